"""The program starts."""

import subprocess
import sys

from bot.app.version import version


def test_version_is_told_without_loading_any_part_of_the_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bot", "--version"], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"zombie {version()}\n", "")
