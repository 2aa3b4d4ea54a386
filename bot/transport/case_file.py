"""Cases as files, plain or compressed."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from bot.domain.case import MOST_ROOM, Case, read_case
from bot.domain.errors import CaseError

SUFFIXES = (".jsonl", ".jsonl.gz")
_GZIP = 16 + zlib.MAX_WBITS


def load(path: Path) -> Case:
    """Read a case. A name that ends in `.gz` means that it is compressed.

    Shape: a case of form 1 has no node's name; the file's name is taken.

    Raises: CaseError when it cannot be read, is not a case, or is damaged.
    """
    try:
        raw = _read(path)
        text = raw.decode()
    except OSError as error:
        raise CaseError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, zlib.error) as error:
        raise CaseError(f"{path} is damaged, or not a case: {error}.", "Copy it again, or record again.") from error
    return read_case(text, str(path), path.name.split(".jsonl")[0])


def make_folder(folder: Path) -> Path:
    """Return a folder for cases; it is made if missing.

    Raises: CaseError when it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CaseError(
            f"{folder} cannot be made a folder: {error.strerror}.", "Name a folder that is yours."
        ) from error
    return folder


def write(folder: Path, case: Case, of: str = "") -> Path:
    """Write a case as NODE.jsonl and return its path; an existing file is replaced completely, or not at all.

    Shape: with `of`, the incident it comes from, the file's name is OF--NODE.jsonl.

    Raises: CaseError when it cannot be written.
    """
    return replace_file(folder / f"{of}{'--' if of else ''}{case.head.node}.jsonl", case.text())


def add(folder: Path, case: Case) -> Path:
    """Write a case beside those that are there, and return its path.

    Shape: NODE.jsonl, and if the folder has another case of the node, NODE--INSTANT.jsonl.

    Raises: CaseError when it cannot be written.
    """
    node, instant = case.head.node, f"{case.head.taken_at:%Y%m%dT%H%M%SZ}"
    later = (f"-{number}" for number in itertools.count(2))
    names = itertools.chain((node, f"{node}--{instant}"), (f"{node}--{instant}{number}" for number in later))
    paths = (folder / f"{name}.jsonl" for name in names)
    return replace_file(next(path for path in paths if not path.exists()), case.text())


def replace_file(path: Path, text: str) -> Path:
    """Write a file of a folder of cases, and return its path. Whoever reads it meanwhile finds a whole one.

    Raises: CaseError when it cannot be written.
    """
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        raise CaseError(f"{path} cannot be written: {error.strerror}.", "Name a folder that is yours.") from error
    return path


def files(named: Iterable[Path]) -> Iterator[Path]:
    """Yield the named files, and for a folder the cases in it, by name.

    Raises: CaseError when a folder has none, or cannot be read.
    """
    for path in named:
        if not path.is_dir():
            yield path
            continue
        try:
            found = sorted(file for file in path.iterdir() if file.name.endswith(SUFFIXES) and file.name[0] != ".")
        except OSError as error:
            raise CaseError(f"{path} cannot be read: {error.strerror}.") from error
        if not found:
            names = f"A case is a file NODE{' or NODE'.join(SUFFIXES)}"
            raise CaseError(f"{path} has no case in it.", f"{names}; to make one: zombie check NODE --record DIR")
        yield from found


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        raw = file.read(MOST_ROOM + 1)
    if path.suffix == ".gz":
        unpacking = zlib.decompressobj(_GZIP)
        raw = unpacking.decompress(raw, MOST_ROOM + 1)
        if not unpacking.eof and len(raw) <= MOST_ROOM:
            raise ValueError("the compressed file is cut short")
    if len(raw) > MOST_ROOM:
        raise ValueError(f"it has more than {MOST_ROOM // 1024 // 1024} MiB")
    return raw
