"""The ways to confine a session, and which of them this machine has."""

from __future__ import annotations

import ctypes
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from openenv_gym_protocol.errors import ConfigurationError

from terminal_git_env.places import INSIDE, PATH, USER, Owner, Place, Session
from terminal_git_env.sandbox import AGENT, Access, Sandbox, SandboxFailed, end_child, run

_PROCESSES = 128
_SHARED_PROCESSES = 4096
"""Where the agent is who the server is, all that this user runs counts, threads too."""

_READABLE = ("/usr", "/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime", "/etc/terminfo")
_LINKS = ("bin", "sbin", "lib", "lib64", "lib32", "libx32")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


class _InNamespaces:
    """What holds wherever a session has namespaces of its own, whoever makes them."""

    separates = True

    def __init__(self, hidden: Sequence[Path] = ()) -> None:
        self._hidden = _visible(hidden)

    def inside(self, session: Session) -> Place:  # noqa: ARG002
        """The same for all."""
        return INSIDE

    def processes(self, session: Session) -> int:  # noqa: ARG002
        """Those of the namespace."""
        return _PROCESSES

    def end(self, session: Session, process: subprocess.Popen[bytes]) -> None:  # noqa: ARG002
        """Ends the namespace's first process."""
        end_child(process)


class Bubblewrap(_InNamespaces):
    """Namespaces made by ``bwrap``."""

    name = "bubblewrap"

    def wrapped(self, session: Session, access: Access, argv: Sequence[str]) -> list[str]:
        """``bwrap`` with everything unshared."""
        command = ["bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent"]
        command += ["--uid", str(USER), "--gid", str(USER), "--hostname", "terminal", "--cap-drop", "ALL"]
        for path in _READABLE:
            command += ["--ro-bind-try", path, path]
        for folder in self._hidden:
            command += ["--tmpfs", str(folder), "--remount-ro", str(folder)]
        for link, target in _links():
            command += ["--symlink", target, link]
        command += ["--proc", "/proc", "--dev", "/dev"]
        for source, place, is_writable in access.mounts(session.outside, INSIDE):
            command += ["--bind" if is_writable else "--ro-bind", str(source), str(place)]
        for name in ("passwd", "group"):
            command += ["--ro-bind-try", str(session.outside.control / name), f"/etc/{name}"]
        for made in ("/home", "/srv", "/run", "/etc"):
            command += ["--chmod", "0755", made]
        return [*command, "--remount-ro", "/", "--chdir", str(INSIDE.work), "--", *argv]


class Namespaces(_InNamespaces):
    """The same namespaces made by ``unshare`` and ``mount``, where there is no bubblewrap."""

    name = "namespaces"

    def wrapped(self, session: Session, access: Access, argv: Sequence[str]) -> list[str]:
        """``unshare``, a script that mounts, and ``setpriv``, which gives up every right to do so."""
        outer = ["setpriv", "--pdeathsig", "KILL", "unshare", "--user", "--map-root-user", "--mount", "--pid"]
        outer += ["--net", "--ipc", "--uts", "--fork", "--kill-child"]
        # Again the user who owns the files.
        inner = ["unshare", "--user", f"--map-user={USER}", f"--map-group={USER}"]
        inner += ["setpriv", "--no-new-privs", "--inh-caps=-all", "--"]
        return [*outer, "sh", "-c", self._script(session, access), "init", *inner, *argv]

    def _script(self, session: Session, access: Access) -> str:
        root = session.outside.given.parent / "root"
        root.mkdir(exist_ok=True)
        new = shlex.quote(str(root))
        lines = [
            "set -e; path=$PATH; PATH=/usr/sbin:/usr/bin:/sbin:/bin",
            f"mount -t tmpfs -o nosuid,nodev,mode=755 tmpfs {new}",
            f"cd {new}",
            "umask 022",
        ]
        lines += ["mkdir -p proc dev/shm dev/pts etc old"]
        lines += [_bound(path, path, is_writable=False) for path in _READABLE if Path(path).exists()]
        lines += [f"mount -t tmpfs -o ro tmpfs {shlex.quote(f'.{hidden}')}" for hidden in self._hidden]
        lines += [f"ln -s {target} .{link}" for link, target in _links()]
        lines += [f": > dev/{name}; mount --bind /dev/{name} dev/{name}" for name in _DEVICES]
        lines += ["ln -s /proc/self/fd dev/fd; ln -s fd/0 dev/stdin; ln -s fd/1 dev/stdout; ln -s fd/2 dev/stderr"]
        lines += ["mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts; ln -s pts/ptmx dev/ptmx"]
        for source, target, is_writable in access.mounts(session.outside, INSIDE):
            lines.append(_bound(str(source), str(target), is_writable=is_writable))
        for name in ("passwd", "group"):
            if (session.outside.control / name).exists():
                lines.append(f"cp {shlex.quote(str(session.outside.control / name))} etc/{name}")
        # One more namespace: that of the agent.
        lines += ["mount -t proc -o nosuid,nodev,noexec proc proc; echo 1 > proc/sys/user/max_user_namespaces"]
        lines += [f"mount --bind proc/{name} proc/{name}; {_read_only(f'proc/{name}')}" for name in _proc_risks()]
        lines += ["hostname terminal; pivot_root . old; cd /; umount -l old; rmdir old", _read_only("/")]
        lines += [f"cd {INSIDE.work}"]
        # Not exec: the first process has to reap those whose parents have gone, and is no program of the agent's.
        return "\n".join([*lines, 'PATH=$path; "$@"; exit $?'])


class Rlimits:
    """Resource limits, a cleared environment and, under root, a user of its own: no namespaces."""

    name = "rlimits"
    separates = False

    def __init__(self, hidden: Sequence[Path] = ()) -> None:
        del hidden  # nothing can be hidden here

    def inside(self, session: Session) -> Place:
        """The folders as they are."""
        return session.outside

    def wrapped(self, session: Session, access: Access, argv: Sequence[str]) -> list[str]:  # noqa: ARG002
        """Starts in the work tree."""
        enter = 'cd "$0" && exec "$@"'
        plain = ["env", f"{_TOKEN}={session.token}", "setpriv", "--no-new-privs", "--inh-caps=-all", "--"]
        return [*plain, "sh", "-c", enter, str(session.outside.work), *argv]

    def processes(self, session: Session) -> int:
        """Those of the user."""
        return _SHARED_PROCESSES if session.owner.user is None else _PROCESSES

    def end(self, session: Session, process: subprocess.Popen[bytes]) -> None:
        """Ends the session's processes: those of its user, or those that the server began or that carry its token."""
        give_up = time.monotonic() + 5
        while (left := _processes_of(session)) and time.monotonic() < give_up:
            for pid in left:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.005)  # the kernel ends them when it gets to it
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()
        if os.getpid() == _FIRST:
            _reap()


_TOKEN = "TERMINAL_GIT_SESSION"
_PR_SET_DUMPABLE = 4
_FIRST = 1
"""The first process of a container, which everything there descends from, whatever its parents did."""

_KINDS: dict[str, Callable[[Sequence[Path]], Sandbox]] = {
    "bubblewrap": Bubblewrap,
    "namespaces": Namespaces,
    "rlimits": Rlimits,
}


def chosen(setting: str, hidden: Sequence[Path] = ()) -> Sandbox:
    """The sandbox that a setting means.

    Args:
        setting: One of the sandboxes' names, or ``auto``.
        hidden: Folders that nobody inside may see, wherever they are installed: tests and solutions.

    Raises:
        ConfigurationError: It does not work on this machine; the message says why, and what helps.
    """
    reasons = []
    for name in ("bubblewrap", "namespaces") if setting == "auto" else (setting,):
        sandbox = _KINDS[name](hidden)
        reason = _why_not(sandbox)
        if reason is None:
            if not sandbox.separates:
                _hide_memory()
            return sandbox
        reasons.append(f"{name}: {reason}")
    raise ConfigurationError(
        f"TERMINAL_GIT_SANDBOX={setting}: the shell cannot be confined here. {' '.join(reasons)} It needs git, "
        "bubblewrap (the Debian packages of these names) and user namespaces. In a container or a virtual machine of "
        "its own, TERMINAL_GIT_SANDBOX=rlimits confines it as far as that does."
    )


def _hide_memory() -> None:
    """Keeps the agent, who may be this same user, from reading the server's memory and environment, with its token."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
        raise ConfigurationError(f"The server's memory cannot be hidden: {os.strerror(ctypes.get_errno())}.")


def _reap() -> None:
    """Takes the exit codes of adopted children; the server's own were waited for by who began them."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _why_not(sandbox: Sandbox) -> str | None:
    """Why a sandbox does not work here; None where it does."""
    session = Session.new(Owner.new())
    try:
        finished = run(sandbox, session, AGENT, ["git", "--version"], {"PATH": PATH}, seconds=20, limit=2000)
    except SandboxFailed as error:
        return str(error)
    finally:
        session.remove()
    return None if finished.exit_code == 0 else f"git does not run inside: {finished.output.text().strip()}"


def _visible(folders: Sequence[Path]) -> list[Path]:
    """Those that what is mounted would show."""
    return [folder for folder in folders if any(folder.is_relative_to(path) for path in _READABLE)]


def _links() -> list[tuple[str, str]]:
    found = [Path("/", name) for name in _LINKS]
    return [(str(path), str(path.readlink())) for path in found if path.is_symlink()]


def _bound(source: str, target: str, *, is_writable: bool) -> str:
    """Mounts something at the same path below the present folder."""
    at = shlex.quote(f".{target}")
    make = f"mkdir -p {at}" if Path(source).is_dir() else f"mkdir -p $(dirname {at}); : > {at}"
    options = "nosuid,nodev" if is_writable else "nosuid,nodev,ro"
    return f"{make}; mount --bind {shlex.quote(source)} {at}; mount -o remount,bind,{options} {at}"


def _read_only(path: str) -> str:
    return f"mount -o remount,bind,nosuid,nodev,ro {path}"


def _proc_risks() -> list[str]:
    return [name for name in ("sys", "sysrq-trigger", "irq", "bus") if Path("/proc", name).exists()]


def _processes_of(session: Session) -> list[int]:
    """The living processes of a session.

    Of a user of its own, they are all of that user. In a container that begins with the server, they are all that
    descend from it, as it has one session then. Else they are those that carry the session's token, which they could
    take off.
    """
    mark = f"{_TOKEN}={session.token}".encode()
    found: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        with suppress(OSError):
            state, parent = folder.joinpath("stat").read_bytes().rpartition(b")")[2].split()[:2]
            if state == b"Z":
                continue
            if session.owner.user is not None:
                is_ours = folder.stat().st_uid == session.owner.user
            else:
                is_ours = os.getpid() == _FIRST or mark in folder.joinpath("environ").read_bytes().split(b"\0")
            if is_ours:
                found[int(folder.name)] = int(parent)
    if session.owner.user is None and os.getpid() == _FIRST:
        return [pid for pid in found if _FIRST in _ancestors(pid, found)]
    return list(found)


def _ancestors(pid: int, parents: Mapping[int, int]) -> list[int]:
    ancestors: list[int] = []
    while pid in parents:
        pid = parents[pid]
        ancestors.append(pid)
    return ancestors
