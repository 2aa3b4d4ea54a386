"""Which login runs a command in a terminal: that is who acts, whatever name they claim.

Defined in: sudo(8) for SUDO_USER; proc_pid_loginuid(5) for /proc/self/loginuid, which a login sets once and
which sudo and su leave as it is.
"""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Mapping, MutableMapping
from pathlib import Path

_LOGIN_UID = Path("/proc/self/loginuid")
_NOBODY = 2**32 - 1  # no login set it: a container, a service


def terminal_user(environment: Mapping[str, str]) -> str:
    """Return who runs this command, as written in the record."""
    return f"terminal:{os_login(environment, os.getuid(), _LOGIN_UID)}"


def os_login(environment: Mapping[str, str], uid: int, login_uid: Path) -> str:
    """Return the login's name; its number where the system has no name for it.

    Shape: for root, the caller of sudo, because root could forge anything; else the session's login, which only
    root can change; else the caller of sudo; else the user that runs this.
    """
    by_sudo = environment.get("SUDO_USER", "")
    session = _session(login_uid)
    if by_sudo and (uid == 0 or session is None):
        name = by_sudo
    else:
        name = _user_name(uid if session is None else session)
    return re.sub(r"[^!-~]", "-", name)[:128].replace("/", "-")


def complete(environment: MutableMapping[str, str], uid: int) -> None:
    """Give a user unknown to the system the home and login name that libraries read from the environment.

    Shape: `docker run --user`, OpenShift and a bare chroot run programs as such users. The home is then `/`, as Docker
    has it, and the login name is the number. Values already set stay, and known users are left alone.

    Source: getpass.getuser and os.path.expanduser say what they read; both fail where they find nothing.
    """
    try:
        pwd.getpwuid(uid)
    except KeyError:
        if not environment.get("HOME"):
            environment["HOME"] = "/"
        if not any(environment.get(name) for name in ("LOGNAME", "USER", "LNAME", "USERNAME")):
            environment["LOGNAME"] = str(uid)


def _session(login_uid: Path) -> int | None:
    try:
        found = int(login_uid.read_text())
    except (OSError, ValueError):
        return None
    return found if 0 <= found < _NOBODY else None


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
