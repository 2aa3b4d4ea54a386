"""Completion in real shells, by the tab key."""

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import missing

ROOT = Path(__file__).parents[3]
LONGEST = 20.0  # seconds that a shell may take to answer
START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(zombie completion bash)"'),
    "zsh": (
        ["zsh", "-f", "-i"],
        "zombie completion zsh > $HOME/_zombie; fpath=($HOME $fpath); autoload -U compinit; compinit -u -D",
    ),
    "tcsh": (["tcsh", "-f"], "zombie completion tcsh > $HOME/z.tcsh; source $HOME/z.tcsh"),
}
Typed = Callable[[str, str], str]


class Terminal:
    """A shell at a terminal: what is typed, and what then stands there."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path) -> None:
        self._ours, theirs = pty.openpty()
        command = ["setsid", "--ctty", *command]  # tcsh completes only at a terminal that is its own
        self._process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)

    def type(self, text: str, until: str) -> str:
        """Type, and return what was said once `until` is in it."""
        os.write(self._ours, text.encode())
        said, end = "", time.monotonic() + LONGEST
        while until not in said:
            ready, _, _ = select.select([self._ours], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"no {until!r} within {LONGEST:.0f} s: {said!r}"
            said += os.read(self._ours, 4096).decode(errors="replace")
        return said

    def close(self) -> None:
        self._process.kill()
        self._process.wait(LONGEST)
        os.close(self._ours)


@pytest.fixture(params=list(START))
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    """A shell that has read the script, in a folder with an inventory; `zombie` is on its PATH."""
    command, begin = START[request.param]
    if shutil.which(command[0]) is None:
        missing(f"{command[0]} is not installed (Debian: apt install {command[0]})")
    program = tmp_path / "bin/zombie"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -P -m bot "$@"\n')
    program.chmod(0o755)
    (tmp_path / "inventory.toml").write_text(
        '[nodes.ray-gpu-0417]\naddress = "10.0.0.1"\n[nodes.web-1]\naddress = "10.0.0.2"\n'
    )
    environment = {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TERM": "vt100",  # with less tcsh edits no line
        "ZOMBIE_INVENTORY": "inventory.toml",
        "LC_ALL": "C.UTF-8",
    }
    terminal = Terminal(command, environment, tmp_path)
    try:
        terminal.type(f"{begin}; echo rea''dy\n", "ready")
        yield terminal
    finally:
        terminal.close()


def test_commands_verbs_options_nodes_and_files_are_completed(shell: Terminal, request: pytest.FixtureRequest) -> None:
    shell.type("zombie comple\t", "zombie completion")
    shell.type("\x15zombie lab inv\t", "inventory")
    shell.type("\x15zombie check --fail-o\t", "--fail-on")
    if request.node.callspec.params["shell"] != "tcsh":
        shell.type("\x15zombie check ray\t", "ray-gpu-0417")
        shell.type("\x15zombie check --inventory inv\t", "inventory.toml")


@pytest.mark.parametrize("shell", ["bash", "zsh"], indirect=True)
def test_name_that_a_shell_would_obey_is_not_offered(shell: Terminal, tmp_path: Path) -> None:
    program = tmp_path / "bin/zombie"
    hostile = ("ray$(touch trap)", "ray`touch trap`", "ray-safe-1 x", "-ray", "raygun;x")
    program.write_text("#!/bin/sh\nprintf '%s\\n' " + " ".join(map(shlex.quote, hostile)) + "\n")
    shell.type("zombie check ray-\t", "ray-safe-1")
    shell.type("\x15zombie check raygu\t", "raygun")
    assert not (tmp_path / "trap").exists()
