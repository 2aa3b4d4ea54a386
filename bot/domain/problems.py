"""The faults in a user's file, each with its line, collected so that the user sees all of them at once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from bot.domain.errors import UsageError
from bot.domain.nearest import did_you_mean
from bot.domain.safe_text import one_line

_MOST_SHOWN = 12
_LONGEST = 400


class Problems:
    """The faults of a file, each as `file:line: what is wrong and what would be right`.

    Shape: line 0 means the whole file. `error` is the type that is raised.
    """

    __slots__ = ("_error", "_file", "_found")

    def __init__(self, file: str, error: type[UsageError]) -> None:
        self._file = one_line(file, 300)
        self._error = error
        self._found: dict[tuple[int, str], None] = {}

    def __len__(self) -> int:
        return len(self._found)

    def add(self, line: int, says: str) -> None:
        """Add a fault."""
        self._found[line, one_line(says, _LONGEST)] = None

    def unknown(self, line: int, what: str, name: str, known: Iterable[str], where: str = "") -> None:
        """Add an unknown name as a fault, with the nearest known names.

        Example: `problems.unknown(3, "key", "prot", ["port"])` says `unknown key "prot". Did you mean port?`
        """
        place = f" in {one_line(where, 80)}" if where else ""
        self.add(line, f'unknown {what} "{one_line(name, 60)}"{place}. {did_you_mean(name, known)}')

    def fail(self, line: int, says: str) -> NoReturn:
        """Add a fault after which nothing more can be checked, and raise the error.

        Raises: the error, with all faults.
        """
        self.add(line, says)
        raise self.error()

    def raise_if_any(self) -> None:
        """Raise the error if there are any faults."""
        if self._found:
            raise self.error()

    def error(self) -> UsageError:
        """Return the error with all faults, sorted by line."""
        lines = [f"{self._file}{f':{line}' if line else ''}: {says}" for line, says in sorted(self._found)]
        hidden = len(lines) - _MOST_SHOWN
        shown = lines[:_MOST_SHOWN] + ([f"{self._file}: … and {hidden} more"] if hidden > 0 else [])
        return self._error("\n".join(shown))


def python_fault_words(error: BaseException) -> str:
    """Return what is wrong with somebody's own Python, with the file and the line where it failed."""
    import traceback  # not before there is a mistake

    at = ""
    if isinstance(error, SyntaxError) and error.filename:
        at = f"{error.filename}:{error.lineno}: "
    elif frames := [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]:
        at = f"{frames[-1].filename}:{frames[-1].lineno}: "
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    return one_line(f"{at}{type(error).__name__}: {said}", _LONGEST)


def read_file(path: Path, what: str, limit_bytes: int, problems: Problems) -> str:
    """Return a file's text; `what` names it where it cannot be read.

    Raises: the problems' error when it cannot be read, is longer than `limit_bytes`, or is not UTF-8 (with the line).
    """
    try:
        with path.open("rb") as file:
            raw = file.read(limit_bytes + 1)
    except OSError as no:
        problems.fail(0, f"{what} cannot be read: {no.strerror}")
    if len(raw) > limit_bytes:
        problems.fail(0, f"the file is larger than {limit_bytes // 1024} kB, which is the most that is read")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        problems.fail(line, f"the byte 0x{error.object[error.start]:02x} is not UTF-8; save the file as UTF-8")
