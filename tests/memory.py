"""This machine's memory, and what tests keep in it because it need not outlive them: nobody waits for a disk."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_MEMORY = Path("/dev/shm")
_NAME = "zombie-tests-"


def memory() -> int:
    """Return how many bytes of memory this machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def folder_in_memory(room: int = 0) -> Path | None:
    """Return a folder that is kept in memory and has room for so many bytes; None where there is none."""
    return _MEMORY if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free >= room else None


@contextmanager
def temporary_files_in_memory(room: int) -> Iterator[None]:
    """Keep all temporary files in memory while a block runs, where that has so much room; then nothing is left."""
    if folder_in_memory(room) is None:
        yield
        return
    for left in _MEMORY.glob(f"{_NAME}*"):  # by a run that was killed
        if not Path(f"/proc/{left.name.removeprefix(_NAME)}").exists():
            shutil.rmtree(left, ignore_errors=True)
    folder = _MEMORY / f"{_NAME}{os.getpid()}"
    folder.mkdir()
    folder.chmod(0o1777)  # as /tmp is: other users' programs are tested, too
    try:
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("TMPDIR", str(folder))
            patched.setattr(tempfile, "tempdir", None)
            yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)
