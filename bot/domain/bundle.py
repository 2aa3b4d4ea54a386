"""A bundle: an incident in one file, which somebody else can check without our database.

The text of a bundle is JSON lines in UTF-8: a head `{"bundle": 1, …}`, a line `{"entry": …}` for each entry of the
incident, a line `{"house": …}` for each entry of the stream `house`, `{"case": TEXT}` if a case is kept,
`{"report": TEXT}`, and last `{"parts": …, "sha256": …}`: a hash of every line before it and of every piece of it, and
the hash of that list. These hashes show where a file was damaged. Forgery is detected by the chain of the entries and
a head noted elsewhere. Form 2 has a line `{"kept": TEXT}` for everything else that the entries name by hash: what a
node said just before a reboot, the sketch of a profile. An incident without such lines is written in form 1, which
older programs can read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from bot.domain.errors import BundleError
from bot.domain.json_form import NotOfForm, canonical, plain, read, unique
from bot.domain.safe_text import one_line

FORM = 2
PLAIN_FORM = 1  # of an incident whose entries name nothing kept besides its case
MOST_VALUES = 8_000_000  # of JSON in a bundle, about: an entry has twenty, and each takes a hundred bytes
DIGITS = 16  # of a piece's hash, which only shows where to look
_AGAIN = "Export it again: zombie incidents export ID -o FILE"
_LIST = "the list of hashes, its last line,"
_ENTRY, _HOUSE, _CASE, _REPORT, _KEPT = "entry", "house", "case", "report", "kept"
_KEPT_NAME = "what was kept"


class KeptEntry(NamedTuple):
    """An entry as the database has it; `body` is exactly the text that was hashed."""

    stream: str
    seq: int
    at: str
    by: str
    kind: str
    body: str
    hash: str


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
    """An incident: its entries, its entries in `house`, what its node said, and the report.

    Shape: `kept` are cases, as texts, that hold what else was kept with the incident; form 1 has none.
    """

    head: BundleHead
    entries: tuple[KeptEntry, ...]
    house: tuple[KeptEntry, ...]
    report: str
    case: str | None = None
    kept: tuple[str, ...] = ()
    form: int = PLAIN_FORM

    def text(self) -> str:
        """Return the bundle as its file holds it; equal bundles have equal texts."""
        lines = [canonical({"bundle": self.form} | plain(self.head))]
        lines += [canonical({_ENTRY: entry._asdict()}) for entry in self.entries]
        lines += [canonical({_HOUSE: entry._asdict()}) for entry in self.house]
        lines += [canonical({_CASE: self.case})] if self.case is not None else []
        lines += [canonical({_KEPT: text}) for text in self.kept]
        lines.append(canonical({_REPORT: self.report}))
        parts = [_part(json.loads(line), line.encode()) for line in lines]
        last = {"parts": parts, "sha256": _hash(_bytes(parts))}
        return "".join(f"{line}\n" for line in (*lines, canonical(last)))


def damage(raw: bytes) -> tuple[str, ...]:
    """Return which parts of a bundle were changed, each with the changed piece if that is known.

    Raises: BundleError when it is not a bundle, or is of a newer form.
    """
    if sum(map(raw.count, (b",", b"[", b"{", b"\n"))) > MOST_VALUES:
        raise BundleError(f"It is a malformed bundle: it has more than {MOST_VALUES:,} values.", _AGAIN)
    *lines, cut = raw.split(b"\n")
    closing = _object(lines[-1]) if lines else None
    parts = closing.get("parts") if isinstance(closing, dict) else None
    if not isinstance(closing, dict) or not isinstance(parts, list) or closing.get("sha256") != _hash(_bytes(parts)):
        _look_at_form(lines)
        return (f"{_LIST} was changed or is missing",)
    found = [f"its end: {len(cut)} bytes stand after the last line"] if cut else []
    if lines[-1] != _bytes(closing):
        found.append(f"{_LIST} was changed")
    try:
        found += _changed(lines[:-1], parts)
    except (KeyError, TypeError, AttributeError, ValueError):
        found.append(f"{_LIST} is malformed")
    if not found:
        _look_at_form(lines)
    return tuple(found)


def _changed(lines: Sequence[bytes], parts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for at, part in enumerate(parts):
        line = lines[at] if at < len(lines) else b""
        if _hash(line) != part["sha256"]:
            yield f"{part['part']} (line {at + 1}): {_pieces_changed(line, part) or 'was changed'}"
    if (more := len(lines) - len(parts)) > 0:
        yield f"line {len(parts) + 1}: {more} lines were added"


def read_bundle(raw: bytes) -> Bundle:
    """Return the bundle in a file.

    Raises: BundleError when it is not a bundle, is of a newer form, or does not have a bundle's form.
    """
    lines = raw.decode(errors="replace").split("\n")[:-1]
    _look_at_form([line.encode() for line in lines])
    try:
        head, *rows = (json.loads(line, object_pairs_hook=unique) for line in lines[:-1])
        found = {kind: [row[kind] for row in rows if kind in row] for kind in (_ENTRY, _HOUSE, _CASE, _KEPT, _REPORT)}
        if sum(map(len, found.values())) != len(rows) or len(found[_CASE]) > 1 or len(found[_REPORT]) != 1:
            raise NotOfForm("a line is of an unknown kind, or appears twice")
        texts = [*found[_CASE], *found[_KEPT], *found[_REPORT]]
        if not all(isinstance(text, str) for text in texts):
            raise NotOfForm("case or report is not text")
        form = head.pop("bundle")
        if found[_KEPT] and form == PLAIN_FORM:
            raise NotOfForm("form 1 cannot hold anything kept beside the case")
        entries, house = (tuple(KeptEntry(**row) for row in found[kind]) for kind in (_ENTRY, _HOUSE))
        if not entries:
            raise NotOfForm("it has no entries")
        case = found[_CASE][0] if found[_CASE] else None
        return Bundle(read(BundleHead, head), entries, house, texts[-1], case, tuple(found[_KEPT]), form)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        said = one_line(str(error), 160) or type(error).__name__
        raise BundleError(f"It is a malformed bundle: {said}.", _AGAIN) from error


def _look_at_form(lines: Sequence[bytes]) -> None:
    head = _object(lines[0]) if lines else None
    form = head.get("bundle") if isinstance(head, dict) else None
    if isinstance(head, dict) and isinstance(form, int) and form > FORM:
        by = one_line(str(head.get("program") or "a newer zombie"), 40)
        raise BundleError(
            f"It is a bundle of form {form}, by {by}; this program reads forms up to {FORM}.",
            "Verify it with the version of zombie that exported it, or a newer version.",
        )
    if isinstance(form, bool) or form not in range(PLAIN_FORM, FORM + 1):
        raise BundleError("It is not a bundle: its first line is not a bundle's head.", _AGAIN)


def _part(row: Mapping[str, Any], line: bytes) -> dict[str, Any]:
    return {"part": _name(row), "sha256": _hash(line), "pieces": dict(_pieces(row))}


def _name(row: Mapping[str, Any]) -> str:
    if "bundle" in row:
        return "the head"
    if kept := row.get(_ENTRY) or row.get(_HOUSE):
        return f"entry {kept['stream']}/{kept['seq']}"
    return "the case" if _CASE in row else _KEPT_NAME if _KEPT in row else "the report"


def _pieces(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a part, and a short hash of each: an object's fields, or a text's lines."""
    inner = row if "bundle" in row else next(iter(row.values()))
    named = inner.items() if isinstance(inner, Mapping) else enumerate(str(inner).split("\n"), 1)
    for name, value in named:
        yield str(name), _hash(_bytes(value))[:DIGITS]


def _pieces_changed(line: bytes, part: Mapping[str, Any]) -> str:
    row = _object(line)
    if not isinstance(row, dict) or not row:
        return "is not JSON any more" if line else "is missing"
    now, was = dict(_pieces(row)), dict(part["pieces"])
    names = [name for name in dict.fromkeys((*was, *now)) if now.get(name) != was.get(name)]
    what = "line" if part["part"] in ("the case", "the report", _KEPT_NAME) else "field"
    some = ", ".join(one_line(name, 40) for name in names[:5]) + (", …" if len(names) > 5 else "")
    return f"{what} {some} was changed" if names else ""


def _object(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _bytes(value: Any) -> bytes:
    return canonical(value).encode(errors="surrogatepass")  # a damaged file may hold any escape


def _hash(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()
