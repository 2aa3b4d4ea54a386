"""Commands run as root on a node: exact argument lists, each program by its full path.

sudo resolves only the first word and compares the rest as text. After `timeout`, a bare name would be searched in the
caller's PATH, and if sudoers sets no `secure_path`, a program of the caller's would run as root. The same goes for what
a program itself runs by a bare name: no full path helps there, and its line needs a `secure_path` beside it.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from bot.domain.command import Command

FOLDERS = ("/usr/bin", "/bin")  # /bin is a separate folder on Debian 9 and Ubuntu 18.04
SYSTEM_FOLDERS = ("/usr/sbin", "/sbin")  # and so is /sbin
# Programs that run others by a bare name: on a kernel without BTF and headers, bpftrace runs modprobe and tar.
_RUN_OTHERS = frozenset({"bpftrace"})


def in_folders(argv: Sequence[str], folders: Sequence[str] = FOLDERS) -> tuple[tuple[str, ...], ...]:
    """Return the argument list for each folder that its program may be in.

    Example:
    >>> in_folders(("dmesg", "-k"))
    (('/usr/bin/dmesg', '-k'), ('/bin/dmesg', '-k'))
    """
    return tuple((f"{folder}/{argv[0]}", *argv[1:]) for folder in folders)


def root_argv(argv: tuple[str, ...], seconds: float, grace: float = 1) -> tuple[str, ...]:
    """Return the argument list that runs `argv` as root, with `timeout` inside sudo: exactly what sudoers must allow.

    Units: `grace` is the seconds between its time limit and its being killed.

    Example:
    >>> root_argv(("/usr/bin/dmesg",), 4)
    ('sudo', '-n', 'timeout', '-k', '1', '4', '/usr/bin/dmesg')
    """
    return ("sudo", "-n", "timeout", "-k", f"{grace:g}", f"{seconds:g}", *argv)


def root_line(argv: Sequence[str], seconds: float, folders: Sequence[str] = FOLDERS) -> str:
    """Return the POSIX-sh command that runs `argv` as root, from the first folder that has its program.

    Example:
    >>> root_line(("dmesg", "-k"), 4)
    '{ for p in /usr/bin/dmesg /bin/dmesg; do [ -x $p ] && break; done; sudo -n timeout -k 1 4 $p -k; }'
    """
    places = " ".join(shlex.quote(way[0]) for way in in_folders(argv, folders))
    before, rest = shlex.join(root_argv((), seconds)), shlex.join(argv[1:])
    return f"{{ for p in {places}; do [ -x $p ] && break; done; {before} $p {rest}; }}"


def root_ways(command: Command) -> tuple[tuple[str, ...], ...]:
    """Return every argument list that a command runs as root if the node allows it.

    Example:
    >>> root_ways(Command("log", ("sh", "-c", root_line(("dmesg",), 8, ["/bin"])), sudo=(("/bin/dmesg",),)))
    (('sudo', '-n', 'timeout', '-k', '1', '8', '/bin/dmesg'),)
    """
    seconds = command.limit.total_seconds()
    ways = (*((command.argv,) if command.as_root else ()), *command.sudo)
    return tuple(root_argv(argv, seconds) for argv in ways)


def needs_secure_path(way: Sequence[str]) -> bool:
    """True for an argument list of `root_argv` whose program runs others by their bare names.

    Example:
    >>> needs_secure_path(root_argv(("/usr/bin/dmesg",), 4)), needs_secure_path(root_argv(("/usr/bin/bpftrace",), 4))
    (False, True)
    """
    return way[len(root_argv((), 1))].rpartition("/")[2] in _RUN_OTHERS
