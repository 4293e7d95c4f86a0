"""The watchdog: a small detached process that owns a pool's servers and ends them when their users end.

Its users are processes that hold a Unix socket to it. The kernel closes that socket whatever ends the process,
SIGKILL included, so that an end of file is the one sign a user leaves by.

The modules of this package import the standard library, each other, and ``openenv_gym.providers.identity`` and
``.location``: nothing that would make the process large. The messages are JSON objects, one a line:

========================  ==================================================  ======================================
from a user               what it asks                                        what it is told
========================  ==================================================  ======================================
``acquire key linger``    to use the server of that key; no key: one of its   ``start`` (start it, others wait for
                          own                                                 you), ``ready`` or ``failed``
``spawn argv cwd env``    (the starter) to run the server's process           ``spawned`` (pid, port) or ``refused``
``keep argv env``         (the starter) to have a keeper see to the server's     ``kept`` or ``refused``
                          end, see ``keepers``
``started``               (the starter) to have the keeper follow it          nothing
``ready base_url token``  (the starter) to hand it to those who wait          ``ready``
``failed error``          (the starter) to tell those who wait, and clean up  nothing
``check linger``          whether its server still runs                       ``checked`` (running)
``suspect``               to end a server that answers nobody any more        ``stopped``, when it is gone
``stop``                  to end its server now                               ``stopped``, when it is gone
``shutdown``              to end every server and the watchdog                the end of file, when all are gone
========================  ==================================================  ======================================

``exited`` (exit_code) may come at any time: the user's server ended by itself.
"""
