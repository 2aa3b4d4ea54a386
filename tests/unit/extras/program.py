"""The program as a person runs it, at a folder's own record and settings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def zombie(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    state = {"ZOMBIE_STATE_DIR": str(folder / "state"), "HOME": str(folder), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-P", "-m", "bot", *words],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **state},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
