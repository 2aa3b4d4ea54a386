"""The programs that the lab needs on this machine, and the Debian packages that have them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass

from bot.domain.errors import UsageError

# Debian keeps some of them in sbin, which ordinary logins do not have in their PATH.
_SEARCHED = ("/usr/local/sbin", "/usr/sbin", "/sbin")


@dataclass(frozen=True, slots=True)
class Tool:
    """A program and its Debian package."""

    program: str
    package: str


QEMU = Tool("qemu-system-x86_64", "qemu-system-x86")
QEMU_IMG = Tool("qemu-img", "qemu-utils")
MMDEBSTRAP = Tool("mmdebstrap", "mmdebstrap")
MKE2FS = Tool("mke2fs", "e2fsprogs")
SSH = Tool("ssh", "openssh-client")
SSH_KEYGEN = Tool("ssh-keygen", "openssh-client")

FOR_THE_IMAGE = (MMDEBSTRAP, MKE2FS, SSH_KEYGEN)
FOR_QEMU = (QEMU, QEMU_IMG, SSH)


def path_of(tool: Tool) -> str | None:
    """Return a program's path, None if it is missing."""
    return shutil.which(tool.program) or shutil.which(tool.program, path=os.pathsep.join(_SEARCHED))


def need(tools: Iterable[Tool]) -> dict[str, str]:
    """Return each program's path.

    Raises: UsageError, which names what is missing and the command that installs it.
    """
    found = {tool: path_of(tool) for tool in tools}
    missing = [tool for tool, path in found.items() if path is None]
    if missing:
        packages = " ".join(dict.fromkeys(tool.package for tool in missing))
        raise UsageError(
            f"The lab needs programs that are missing here: {', '.join(tool.program for tool in missing)}.",
            f"Debian and Ubuntu: apt install --no-install-recommends {packages}",
        )
    return {tool.program: path for tool, path in found.items() if path is not None}
