"""Where tests keep what need not outlive them: in memory, so that nobody waits for a disk."""

import shutil
from pathlib import Path

_MEMORY = Path("/dev/shm")


def folder_in_memory(room: int = 0) -> Path | None:
    """Return a folder that is kept in memory and has room for so many bytes; None where there is none."""
    return _MEMORY if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free >= room else None
