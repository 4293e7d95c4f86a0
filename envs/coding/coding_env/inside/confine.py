"""Runs inside: what the process gives up before it runs anybody's code. A program of its own, without the package.

Which of it is done depends on how the process was started. With bubblewrap the mounts and namespaces are there; with
``unshare`` the namespaces are, and the mounts are made here; with resource limits alone neither is.
"""

# pathlib would take longer to load than all of this.
# ruff: noqa: PTH103, PTH112, PTH120, PTH123, PTH208, PTH211

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
import signal
import struct
import time
from typing import Any

_LIBC = ctypes.CDLL(None, use_errno=True)

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
_MNT_DETACH = 2
_MOUNT_SETATTR, _AT_RECURSIVE, _READ_ONLY = 442, 0x8000, 1 | 2 | 4  # with nosuid and nodev; one number everywhere
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP = 1, 4, 24
_PR_SET_SUBREAPER, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 36, 38, 22

_LAST_CAPABILITY = 63
_DEVICES = ("null", "zero", "full", "random", "urandom")

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# unshare, setns, mount, umount2, pivot_root, chroot, ptrace, process_vm_readv, process_vm_writev, bpf, keyctl,
# add_key, request_key, perf_event_open, userfaultfd, kexec_load, init_module, finit_module, shmget, msgget, semget,
# memfd_create, memfd_secret: other namespaces, others' memory, and memory that no limit counts.
_NUMBERS = {
    "x86_64": "272 308 165 166 155 161 101 310 311 321 250 248 249 298 323 246 175 313 29 68 64 319 447",
    "aarch64": "97 268 40 39 41 51 117 270 271 280 219 217 218 241 282 104 105 273 194 186 190 279 447",
}
# io_uring, open_tree to fspick, mount_setattr and pidfd_getfd have the same numbers everywhere.
_NUMBERS_OF_ALL = (425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442)
_CLONE3 = 435
_CLONE = {"x86_64": 56, "aarch64": 220}
_SOCKET = {"x86_64": 41, "aarch64": 198}
_NEW_NAMESPACES = 0x7E020000
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000


def die_with_parent(number: int) -> None:
    """Has the kernel send this process a signal when the thread that started it ends."""
    _prctl(_PR_SET_PDEATHSIG, number)


def adopt_orphans() -> None:
    """Makes this process the parent of its descendants whose parents end."""
    _prctl(_PR_SET_SUBREAPER, 1)


def hide_memory() -> None:
    """Keeps other processes of the same user from reading this one's memory."""
    _prctl(_PR_SET_DUMPABLE, 0)


def enter_root(plan: dict[str, Any]) -> None:
    """Makes the file system that the code sees, and nothing of the other one left to reach.

    Args:
        plan: ``root``, a folder to build it on; ``binds`` and ``hidden``, folders to show and to leave empty;
            ``links``, their names and targets; ``work``, the folder of the code; ``size``, the bytes that each
            writable folder may hold.
    """
    root, bounded = plan["root"], f"size={plan['size']},mode=1777"
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    _mount("tmpfs", root, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m,mode=755")
    for place in (plan["work"], "/tmp"):
        os.makedirs(root + place, exist_ok=True)
        _mount("tmpfs", root + place, "tmpfs", _MS_NOSUID | _MS_NODEV, bounded)
    for source in plan["binds"]:
        _show(source, root + source)
    for place in plan["hidden"]:
        _mount("tmpfs", root + place, "tmpfs", _MS_RDONLY | _MS_NOSUID | _MS_NODEV, "size=4k,mode=755")
    for name, target in plan["links"]:
        os.symlink(target, root + name)
    os.makedirs(root + "/proc")
    _mount("proc", root + "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    _make_devices(root + "/dev", bounded)
    _read_only(root, recursive=False)
    os.chdir(root)
    _check(_LIBC.pivot_root(b".", b"."), "pivot_root")
    _check(_LIBC.umount2(b".", _MNT_DETACH), "umount2")
    os.chdir(plan["work"])


def forbid_more_namespaces() -> None:
    """Within this user namespace nobody makes another."""
    with open("/proc/sys/user/max_user_namespaces", "w", encoding="ascii") as file:
        file.write("0")


def give_up_rights(uid: int | None, limits: dict[str, int]) -> None:
    """Drops every capability for good, and sets the limits.

    Args:
        uid: The user to become, for root; None stays who it is.
        limits: Soft and hard limits in one, by their names in ``resource``.
    """
    for number in range(_LAST_CAPABILITY + 1):
        _LIBC.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)  # who has no rights has nothing to drop
    if uid is not None:
        _become(uid)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    header = struct.pack("=Ii", 0x20080522, 0)
    _check(_LIBC.capset(header, bytes(24)), "capset")
    for name, limit in limits.items():
        resource.setrlimit(getattr(resource, name), (limit, limit))


def _become(uid: int) -> None:
    """Changes root into a user that owns nothing; where that number is not mapped, into nobody."""
    os.setgroups([])
    for number in (uid, 65534):
        try:
            os.setresgid(number, number, number)
            os.setresuid(number, number, number)
        except OSError as error:
            if error.errno != errno.EINVAL or number == 65534:
                raise
        else:
            _prctl(_PR_SET_DUMPABLE, 1)  # changing the user took that away, and with it /proc/self
            return


def filter_calls(*, network: bool) -> None:
    """Refuses the system calls that no program needs here and that lead around the limits.

    Args:
        network: Whether sockets may be other than local ones. Where there is a network namespace they lead nowhere.
    """
    machine = os.uname().machine
    if machine not in _AUDIT:
        return
    program = _filter(machine, network=network)
    buffer = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in program))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(buffer)))
    _check(_LIBC.prctl(_PR_SET_SECCOMP, 2, header, 0, 0), "seccomp")


def _filter(machine: str, *, network: bool) -> list[tuple[int, int, int, int]]:
    load, equal, at_least, any_bit, end = 0x20, 0x15, 0x35, 0x45, 0x06
    refused = _ERRNO | errno.EPERM
    lines = [
        (load, 0, 0, 4),
        (equal, 1, 0, _AUDIT[machine]),
        (end, 0, 0, _KILL),
        (load, 0, 0, 0),
        (at_least, 0, 1, 0x40000000),  # the calls of x32, which have numbers of their own
        (end, 0, 0, refused),
        (equal, 0, 1, _CLONE3),
        (end, 0, 0, _ERRNO | errno.ENOSYS),  # its flags cannot be seen; the C library takes clone then
    ]
    for number in (*map(int, _NUMBERS[machine].split()), *_NUMBERS_OF_ALL):
        lines += [(equal, 0, 1, number), (end, 0, 0, refused)]
    lines += [(equal, 0, 4, _CLONE[machine]), (load, 0, 0, 16), (any_bit, 0, 1, _NEW_NAMESPACES), (end, 0, 0, refused)]
    lines += [(end, 0, 0, _ALLOW)]
    if not network:
        lines += [(equal, 0, 3, _SOCKET[machine]), (load, 0, 0, 16), (equal, 1, 0, 1), (end, 0, 0, refused)]
    return [*lines, (end, 0, 0, _ALLOW)]


def slay_descendants(ancestor: int) -> None:
    """Kills whatever descends from a process that adopts orphans, until nothing is left; the ancestor itself lives on.

    All are stopped first: stopped processes keep their places below the limit, so that those who fork without end
    cannot get away.
    """
    while found := _descendants(ancestor):
        stopped: set[int] = set()
        while fresh := found - stopped:
            _signal_all(fresh, signal.SIGSTOP)
            stopped |= fresh
            found = _descendants(ancestor)
        _signal_all(stopped, signal.SIGKILL)
        time.sleep(0.002)  # until they have ended; nobody tells


def _descendants(ancestor: int) -> set[int]:
    """All that live; those that have ended and only wait to be waited for are left out."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdecimal():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except OSError:
            continue
        if state not in (b"Z", b"X"):
            parents[int(entry)] = int(parent)
    found: set[int] = set()
    fresh = {ancestor}
    while fresh := {child for child, parent in parents.items() if parent in fresh} - found:
        found |= fresh
    return found


def _signal_all(processes: set[int], number: int) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


def _show(source: str, place: str) -> None:
    if os.path.isdir(source):
        os.makedirs(place, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="ascii"):
            pass
    _mount(source, place, None, _MS_BIND | _MS_REC)
    _read_only(place, recursive=True)


def _make_devices(place: str, bounded: str) -> None:
    os.makedirs(place)
    for name in _DEVICES:
        with open(f"{place}/{name}", "w", encoding="ascii"):
            pass
        _mount(f"/dev/{name}", f"{place}/{name}", None, _MS_BIND)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(target, f"{place}/{name}")
    os.makedirs(f"{place}/shm")
    _mount("tmpfs", f"{place}/shm", "tmpfs", _MS_NOSUID | _MS_NODEV, bounded)


def _read_only(place: str, *, recursive: bool) -> None:
    attributes = struct.pack("=QQQQ", _READ_ONLY, 0, 0, 0)
    flags = _AT_RECURSIVE if recursive else 0
    _check(
        _LIBC.syscall(_MOUNT_SETATTR, -100, place.encode(), flags, attributes, len(attributes)), f"read-only {place}"
    )


def _mount(source: str | None, place: str, kind: str | None, flags: int, options: str = "") -> None:
    words = [None if word is None else word.encode() for word in (source, place, kind)]
    _check(_LIBC.mount(*words, ctypes.c_ulong(flags), options.encode()), f"mount {place}")


def _prctl(option: int, value: int) -> None:
    _check(_LIBC.prctl(option, ctypes.c_ulong(value), 0, 0, 0), f"prctl {option}")


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
