"""A bundle: an incident in one file, which somebody else can check without our database.

The text of a bundle is JSON lines in UTF-8: a head `{"bundle": 1, …}`, a line `{"entry": …}` for each entry of the
incident, a line `{"house": …}` for each entry of the stream `house`, `{"case": TEXT}` if a case is kept, `{"report":
TEXT}`, and last `{"parts": …, "sha256": …}`: a hash of every line before it, and the hash of that list. These hashes
show where a file was damaged (older programs noted `pieces` of each line, too, and look for them). Forgery is detected
by the chain of the entries and a head noted elsewhere. Form 2 has a line `{"kept": TEXT}` for everything else that the
entries name by hash: what a node said just before a reboot, the sketch of a profile. An incident without such lines is
written in form 1, which older programs can read.

A bundle is written and read line by line, and a file may come from anybody: what has no place in a bundle (a line that
is too long, more values than an entry has) is refused before it takes memory.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO, TypeAlias

from bot.domain.errors import BundleError
from bot.domain.json_form import (
    MOST_ROOM,
    NotOfForm,
    canonical,
    count_json_values,
    decode_untrusted,
    has_more_values,
    memory_bytes,
    read,
    to_json_types,
)
from bot.domain.safe_text import one_line
from bot.ledger.excerpt import StoredEntry

FORM = 2
PLAIN_FORM = 1  # of an incident whose entries name nothing kept besides its case
MOST_BYTES = 128 * 1024 * 1024
MOST_LINE = MOST_ROOM  # bytes, also as text in memory: a case of a large node has half a megabyte
MOST_LIST = 32 * 1024 * 1024  # bytes of the list of hashes, for as many entries as a bundle can hold
MOST_LINES = MOST_LIST // 100  # each has more than that in the list
MOST_STORY = 8 * 1024 * 1024  # bytes that the incident's own entries take, which are all in memory at once
MOST_ENTRIES = 10_000  # of the incident: a fold copies what it has at each of them
STORY_VALUES = 400_000  # of JSON in all of them
MOST_VALUES = 100_000  # of JSON in an entry: a verdict has hundreds
MOST_FINDINGS = 100
_AGAIN = "Export it again: zombie incidents export ID -o FILE"
_ALL = "What all of the record holds: zombie audit export"
_LIST = "the list of hashes, its last line,"
_HEAD, _ENTRY, _HOUSE, _CASE, _KEPT, _REPORT = ORDER = ("bundle", "entry", "house", "case", "kept", "report")
_KEPT_NAME = "what was kept"
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ": "xz",
    b"BZh": "bzip2",
}
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_PART = re.compile(
    rb'\{"part":(%b),"pieces":\{(?:%b:%b,?)*+\},"sha256":"([0-9a-f]{64})"\}[,\]]' % (_STRING, _STRING, _STRING)
)
_OPENS, _CLOSES = b'{"parts":', re.compile(rb',"sha256":"([0-9a-f]{64})"\}')
_LONGEST_NAME = 400  # bytes of a part's name that a sentence shows
_CLOSING = len(',"sha256":""}') + 64  # bytes of what stands after the parts


@dataclass(frozen=True, slots=True)
class BundleHead:
    """What a bundle says about itself, for a reader; all of it can be derived from the entries.

    Shape: `house_before` is the entry of `house` before the first in the bundle, `house_head` the last in the bundle,
    both `SEQ:HASH` with the whole hash. `plan` is the digest that was approved; `approvals` are the people who
    approved. `case` is the content hash of the case, empty if none was kept.
    """

    incident: str
    node: str
    program: str
    exported_at: datetime
    status: str = ""
    cause: str = ""
    confidence: str = ""
    plan: str = ""
    approvals: tuple[str, ...] = ()
    case: str = ""
    house_before: str = ""
    house_head: str = ""


@dataclass(frozen=True, slots=True)
class Bundle:
    """An incident to be written: its entries, its entries in `house`, what its node said, and the report.

    Shape: `house` and `kept` may be read from the database as they are written. `kept` are cases, as texts, that hold
    what else was kept with the incident; form 1 has none.
    """

    head: BundleHead
    entries: tuple[StoredEntry, ...]
    house: Iterable[StoredEntry]
    report: str
    case: str | None = None
    kept: Iterable[str] = ()
    form: int = PLAIN_FORM

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the bundle's file; equal bundles have equal lines.

        Raises: BundleError when no reader would take it, because it is too large.
        """
        parts, size, story = [], 0, _Story()
        for row in self._rows():
            text = canonical(row)
            line = text.encode()
            if _ENTRY in row and (too_large := story.count_entry(StoredEntry(**row[_ENTRY]), text)):
                raise BundleError(f"The bundle would be too large: {too_large}.", _ALL)
            part = canonical({"part": _row_name(row), "sha256": _hash(line), "pieces": {}}).encode()
            size += len(line) + len(part) + 2
            parts.append(part)
            if memory_bytes(text) > MOST_LINE or size > MOST_BYTES:
                raise BundleError(
                    f"The bundle would be too large: {_row_name(row)} makes it {size // 1024 // 1024} MiB.",
                    _ALL,
                )
            yield line + b"\n"
        inner = b"[" + b",".join(parts) + b"]"
        if len(inner) > MOST_LIST - _CLOSING - len(_OPENS):
            raise BundleError("The bundle would have too many entries.", _ALL)
        yield _OPENS + inner + b',"sha256":"' + _hash(inner).encode() + b'"}\n'

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        yield {_HEAD: self.form} | to_json_types(self.head)
        yield from ({_ENTRY: entry._asdict()} for entry in self.entries)
        yield from ({_HOUSE: entry._asdict()} for entry in self.house)
        if self.case is not None:
            yield {_CASE: self.case}
        yield from ({_KEPT: text} for text in self.kept)
        yield {_REPORT: self.report}


def fits_a_line(text: str | None) -> bool:
    """True when a text can be a line of a bundle."""
    return text is None or (memory_bytes(text) < MOST_LINE and memory_bytes(canonical(text)) < MOST_LINE - 20 * 4)


BundleRow: TypeAlias = tuple[str, Any]  # a kind of `ORDER`, and what it holds: BundleHead, KeptEntry or text


class BundleFile:
    """Reads a bundle line by line, as often as it is asked; the file can be anybody's."""

    def __init__(self, file: BinaryIO) -> None:
        """Measure the lines of a file that can be read from its beginning again.

        Raises: BundleError when it is not a bundle, is of a newer form, or is larger than any bundle.
        """
        self._file = file
        self._lines = 0  # before the list of hashes
        self._list_at = 0  # the position of that list, in bytes
        self._cut = 0  # bytes after the last whole line
        at, before = 0, 0
        file.seek(0)
        for number in itertools.count(1):
            line = file.readline(MOST_LIST + 1)
            if before > MOST_LINE and line:
                raise _malformed(f"line {number - 1} has more than {MOST_LINE // 1024 // 1024} MiB")
            if len(line) > MOST_LIST:
                raise _malformed(f"line {number} has more than {MOST_LIST // 1024 // 1024} MiB")
            if number == 1:
                self.form, self.unknown = _form_of_head(line)
            if number > MOST_LINES:
                raise _malformed(f"it has more than {MOST_LINES:,} lines")
            if at + len(line) > MOST_BYTES:
                raise _malformed(f"it has more than {MOST_BYTES // 1024 // 1024} MiB")
            if not line.endswith(b"\n"):
                self._cut = len(line)
                break
            self._lines, self._list_at = number - 1, at
            at, before = at + len(line), len(line)

    def damage(self) -> tuple[str, ...]:
        """Return which parts were changed since it was written, each by its name and line."""
        self._file.seek(self._list_at)
        closing = self._file.readline(MOST_LIST + 1).removesuffix(b"\n")
        ends = _CLOSES.fullmatch(closing, max(0, len(closing) - _CLOSING))
        inner = memoryview(closing)[len(_OPENS) : -_CLOSING]
        if ends is None or not closing.startswith(_OPENS) or hashlib.sha256(inner).hexdigest() != ends[1].decode():
            return (f"{_LIST} was changed or is missing",)
        found = itertools.chain(
            [f"its end: {self._cut} bytes stand after the last line"] if self._cut else [], self._changed_parts(closing)
        )
        return tuple(itertools.islice(found, MOST_FINDINGS))

    def _changed_parts(self, closing: bytes) -> Iterator[str]:
        self._file.seek(0)
        at, number, end = len(_OPENS) + 1, 0, len(closing) - _CLOSING
        while at < end:
            if (part := _PART.match(closing, at)) is None:
                yield f"{_LIST} is malformed"
                return
            at, number = part.end(), number + 1
            line = self._file.readline(MOST_LINE + 1).removesuffix(b"\n") if number <= self._lines else b""
            if _hash(line) != part[2].decode():
                is_name = len(part[1]) <= _LONGEST_NAME
                name = one_line(str(_object(part[1].decode(errors="replace"))), 80) if is_name else "a part"
                yield f"{name} (line {number}): {'was changed' if line else 'is missing'}"
        if (more := self._lines - number) > 0:
            yield f"line {number + 1}: {more} lines were added"

    def rows(self) -> Iterator[BundleRow]:
        """Yield the head, the entries, those of `house`, the case, what else was kept and the report, in this order.

        Raises: BundleError when it does not have a bundle's form; the sentence names the line.
        """
        self._file.seek(0)
        seen, story = dict.fromkeys(ORDER, 0), _Story()
        for number in range(1, self._lines + 1):
            line = self._file.readline(MOST_LINE + 1).removesuffix(b"\n")
            try:
                text = line.decode()
                kind, value = _parsed_row(text)
                _check_order(kind, seen, self.form)
                if kind == _ENTRY and (too_large := story.count_entry(value, text)):
                    raise NotOfForm(too_large)
                del line, text  # nobody needs them any more, and they may be large
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
                said = one_line(str(error), 160) or type(error).__name__
                raise _malformed(f"line {number}: {said}") from error
            yield kind, value
        if not seen[_REPORT] or not seen[_ENTRY]:
            raise _malformed(f"it has no {'report' if seen[_ENTRY] else 'entries'}")


@dataclass(slots=True)
class _Story:
    """How much the incident's own entries are, so far."""

    entries: int = 0
    size: int = 0
    values: int = 0

    def count_entry(self, entry: StoredEntry, line: str) -> str:
        """Count another; return why there are too many, for a reader and a writer alike."""
        self.entries += 1
        self.size += max(memory_bytes(line), memory_bytes(entry.body))
        self.values += count_json_values(entry.body)
        if self.entries > MOST_ENTRIES:
            return f"the incident has more than {MOST_ENTRIES:,} entries"
        if self.size > MOST_STORY:
            return f"its entries have more than {MOST_STORY // 1024 // 1024} MiB"
        return f"its entries have more than {STORY_VALUES:,} values" if self.values > STORY_VALUES else ""


def _parsed_row(text: str) -> BundleRow:
    row = decode_untrusted(text, MOST_VALUES)
    if not isinstance(row, dict) or not row:
        raise NotOfForm("it is not an object")
    if _HEAD in row:
        return _HEAD, read(BundleHead, {key: value for key, value in row.items() if key != _HEAD})
    kind, value = next(iter(row.items()))
    if len(row) > 1 or kind not in ORDER:
        raise NotOfForm(f"it is of an unknown kind, {one_line(str(kind), 40)}")
    if kind in (_ENTRY, _HOUSE):
        entry = StoredEntry(**value)
        if [type(each) for each in entry] != [str, int, str, str, str, str, str]:
            raise NotOfForm("an entry has values of the wrong types")
        if has_more_values(entry.body, MOST_VALUES):
            raise NotOfForm(f"the body of an entry has more than {MOST_VALUES:,} values")
        return kind, entry
    if not isinstance(value, str):
        raise NotOfForm(f"{_row_name(row)} is not text")
    return kind, value


def _check_order(kind: str, seen: dict[str, int], form: int) -> None:
    seen[kind] += 1
    if kind in (_HEAD, _CASE, _REPORT) and seen[kind] > 1:
        raise NotOfForm(f"there is a second {kind}")
    if any(seen[later] for later in ORDER[ORDER.index(kind) + 1 :]):
        raise NotOfForm(f"{kind} stands too late")
    if not seen[_HEAD]:
        raise NotOfForm("it stands before the head")
    if not seen[_ENTRY] and kind != _HEAD:
        raise NotOfForm("there are no entries before it")
    if kind == _KEPT and form == PLAIN_FORM:
        raise NotOfForm("form 1 cannot hold anything kept beside the case")


def _malformed(what: str) -> BundleError:
    return BundleError(f"It is a malformed bundle: {what}.", _AGAIN)


def _form_of_head(line: bytes) -> tuple[int, tuple[str, ...]]:
    """Return the form that a head says, and the names of its fields that this program does not know."""
    for begins, name in _PACKED.items():
        if line.startswith(begins):
            raise BundleError(f"It is compressed ({name}), and a bundle is plain text.", "Unpack it, and verify that.")
    head = _object(line[:MOST_LINE].decode(errors="replace"))
    form = head.get(_HEAD) if isinstance(head, dict) else None
    if isinstance(head, dict) and isinstance(form, int) and form > FORM:
        by = one_line(str(head.get("program") or "a newer zombie"), 40)
        raise BundleError(
            f"It is a bundle of form {form}, by {by}; this program reads forms up to {FORM}.",
            "Verify it with the version of zombie that exported it, or a newer version.",
        )
    if isinstance(form, bool) or not isinstance(form, int) or form < PLAIN_FORM:
        raise BundleError("It is not a bundle: its first line is not a bundle's head.", _AGAIN)
    return form, tuple(one_line(name, 60) for name in head if name not in (_HEAD, *BundleHead.__slots__))


def _row_name(row: Mapping[str, Any]) -> str:
    if _HEAD in row:
        return "the head"
    if kept := row.get(_ENTRY) or row.get(_HOUSE):
        return f"entry {kept['stream']}/{kept['seq']}"
    return "the case" if _CASE in row else _KEPT_NAME if _KEPT in row else "the report"


def _object(text: str) -> Any:
    try:
        return decode_untrusted(text, MOST_VALUES)
    except ValueError:
        return None


def _hash(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()
