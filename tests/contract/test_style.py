"""The linter and the type checker are part of the tests, so that one command is the whole gate."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("tool", [["ruff", "check", "--quiet", "."], ["mypy", "--strict"]], ids=["ruff", "mypy"])
def test_has_nothing_to_say(tool: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *tool], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("script", ["zombie", ".ci/run"])
def test_shell_script_parses(script: str) -> None:
    shell = (ROOT / script).read_text().splitlines()[0].removeprefix("#!").removeprefix("/usr/bin/env ")
    done = subprocess.run(
        [*shell.split(), "-n", script], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
