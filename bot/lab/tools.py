"""The programs that the lab needs on this machine, and the Debian packages that have them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from bot.domain.errors import UsageError

# Debian keeps some of them in sbin, which ordinary logins do not have in their PATH.
_SEARCHED = ("/usr/local/sbin", "/usr/sbin", "/sbin")


FOR_THE_IMAGE = {"mmdebstrap": "mmdebstrap", "mke2fs": "e2fsprogs", "ssh-keygen": "openssh-client"}
FOR_QEMU = {"qemu-system-x86_64": "qemu-system-x86", "qemu-img": "qemu-utils", "ssh": "openssh-client"}


def path_of(program: str) -> str | None:
    """Return a program's path, None if it is missing."""
    return shutil.which(program) or shutil.which(program, path=os.pathsep.join(_SEARCHED))


def need(packages: Mapping[str, str]) -> dict[str, str]:
    """Return the path of each program of these packages, which are told by program.

    Raises: UsageError, which names what is missing and the command that installs it.
    """
    found = {program: path_of(program) for program in packages}
    missing = [program for program, path in found.items() if path is None]
    if missing:
        named = " ".join(dict.fromkeys(packages[program] for program in missing))
        raise UsageError(
            f"The lab needs programs that are missing here: {', '.join(missing)}.",
            f"Debian and Ubuntu: apt install --no-install-recommends {named}",
        )
    return {program: path for program, path in found.items() if path is not None}
