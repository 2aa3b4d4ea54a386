"""The awks and shells that nodes have, as far as they are here, and what their filters leave of a text."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

Way = tuple[str, ...]
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def _here(*ways: Way) -> list[Way]:
    return [way for way in ways if shutil.which(way[0])]


AWKS = _here(("mawk",), ("gawk",), ("original-awk",), ("busybox", "awk"))
SHELLS = _here(("dash",), ("bash", "--posix"), ("busybox", "sh"))
every_awk = pytest.mark.parametrize("awk", AWKS, ids=lambda awk: awk[0])
every_shell = pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])


def filtered(program: str, text: str, awk: Way = AWKS[0], **given: str) -> str:
    """Return what an awk prints of a text; the first one begins the soonest."""
    words = [word for name, value in given.items() for word in ("-v", f"{name}={value}")]
    argv = [*awk, *words, program]
    return subprocess.run(argv, input=text, capture_output=True, text=True, timeout=30, check=True).stdout


def on_path(way: Way) -> Way:
    """Return the same with its program's full path, for where no PATH leads to it."""
    return (shutil.which(way[0]) or way[0], *way[1:])


def printed(script: str, shell: Way = ("sh",), tools: Path | None = None) -> str:
    """Return what a shell prints of a script, with no error beside it; programs in `tools` come before the node's."""
    return printed_by([*shell, "-c", script], f"{tools}:{_PATH}" if tools else _PATH)


def printed_by(argv: Sequence[str], path: str = _PATH) -> str:
    """Return what a program prints, with no error beside it; it finds others on this path."""
    env = {"PATH": path, "LC_ALL": "C"}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    return done.stdout


def tool(path: Path, script: str) -> None:
    """Put a program there that stands for one of a node's."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
