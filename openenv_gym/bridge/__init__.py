"""From sessions on the wire to Gymnasium's environments.

``env`` and ``vector`` are the two environments. ``setup`` reads their keywords, ``servers`` finds the servers,
``interface`` is what a server says of itself. ``lanes`` holds the connections; ``rows`` reads one lane's reply, and
``batch`` makes arrays of many rows. ``schema`` builds codecs for models and declared spaces out of ``codecs`` and
``spaces``.
"""
