"""The machine's list of accounts, which one test at a time may change: useradd does not wait for another one."""

import fcntl
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path


def change_accounts(command: Sequence[str]) -> None:
    """Run useradd or userdel, once whoever else does has ended; tests run side by side, and so may whole runs."""
    lock = os.open(Path(tempfile.gettempdir()) / "zombie-tests-accounts.lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(command, check=True, capture_output=True, timeout=30)
    finally:
        os.close(lock)
