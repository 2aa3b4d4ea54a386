"""Which login stands behind a command in a terminal: that is who acts, whatever name they claim.

Defined in: sudo(8) for SUDO_USER; proc_pid_loginuid(5) for /proc/self/loginuid, which a session's login sets once and
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
    """Return the login's name; a number where the system knows no name for it.

    Shape: for root whoever called sudo, since root could forge anything else as well; else the login of the session,
    which nobody but root can change; else whoever called sudo; else the name of the user that runs this.
    """
    by_sudo = environment.get("SUDO_USER", "")
    session = _session(login_uid)
    if by_sudo and (uid == 0 or session is None):
        name = by_sudo
    else:
        name = _name(uid if session is None else session)
    return re.sub(r"[^!-~]", "-", name)[:128].replace("/", "-")


def complete(environment: MutableMapping[str, str], uid: int) -> None:
    """Give a user whom the system does not know what libraries take from the environment: a home and a login name.

    Shape: `docker run --user`, OpenShift and a bare chroot run programs as such users. The home is then `/`, as Docker
    has it, and the login name is the number. Whatever is set already stays, and known users are left alone.

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


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
