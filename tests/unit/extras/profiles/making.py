"""Profiles that are made up, and read whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bot.extras.profiles.files import read
from bot.extras.profiles.profile import Profile
from bot.extras.profiles.reader import Reader
from bot.extras.profiles.selection import Selection


def profile(text: str | bytes, selection: Selection | None = None, piece: int = 1 << 20, **more: Any) -> Profile:
    """Read a text, piece by piece."""
    raw = text.encode() if isinstance(text, str) else text
    reader = Reader(selection, **more)
    for start in range(0, len(raw), piece):
        reader.feed(raw[start : start + piece])
    return reader.finish()


def profile_of_file(folder: Path, raw: bytes) -> Profile:
    """Read a file with these bytes."""
    (folder / "perf.txt").write_bytes(raw)
    return read(folder / "perf.txt", Selection())


def event(
    *frames: str,
    at: float = 100.0,
    comm: str = "kubelet",
    pid: str = "2317/2390",
    core: int | None = 39,
    event: str = "1 cycles",
) -> str:
    """Return one event; `frames` innermost first."""
    on = "" if core is None else f" [{core:03d}]"
    lines = "".join(f"\t    {4096 + at:x} {frame}+0x{at:x} ([kernel.kallsyms])\n" for at, frame in enumerate(frames))
    return f"{comm} {pid}{on} {at:.6f}: {event}:\n{lines}\n"
