"""An environment of its own for tools that only a test uses: what one lock names, every file checked by hash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conftest import missing

ROOT = Path(__file__).parents[1]


def programs_of(lock: str, folder: Path) -> Path:
    """Install what the lock names, and return the folder of its programs; where it cannot be had, see `missing`."""
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True, timeout=120)
    install = [str(venv / "bin/python"), "-m", "pip", "install", "-q", "--require-hashes", "--only-binary", ":all:"]
    done = subprocess.run([*install, "-r", str(ROOT / lock)], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        missing(f"what {lock} names cannot be had here: {done.stderr.strip().splitlines()[-1]}")
    return venv / "bin"
