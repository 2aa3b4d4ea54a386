"""Secrets whose names stand apart from them: in a table's head, in the list of an INSERT, above a block.

A head is a line of names alone, divided as CSV, TSV, a database's or Markdown's tables divide them, or by blanks; the
rows are the lines below it that have as many fields. In JSON a head is a list of names, and its rows are the lists in
the list that follows. In a table of names and values a row's name says what its value is. A block is what stands in
braces or further in.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bot.domain.secret_names import secret_rows, speaks_of_secret


def is_head(line: str) -> bool:
    """True if a line may be a table's head with a column whose name speaks of a secret."""
    line = _PREFIX.sub("", line, count=1)
    return bool(_columns(line, _divider(line)))


def column_values(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the name of each column that speaks of a secret with the place of each value in it."""
    if _INTO.search(text) is not None:
        yield from _inserted(text)
    if "]" in text:
        yield from _listed(text)
    if _LINE_END.search(text):
        yield from _tabled(text)


def _inserted(text: str) -> Iterator[tuple[str, int, int]]:
    for into in _INTO.finditer(text):
        names = [_bare(name) for name in into["names"].split(",")]
        wanted = [number for number, name in enumerate(names) if speaks_of_secret(name)]
        if not wanted:
            continue
        at = into.end()
        while row := _ROW.match(text, at):
            values, at = [*_VALUE.finditer(text, row.start("values"), row.end("values"))], row.end()
            values = [value for value in values if value[0].strip()]
            if len(values) != len(names) and row["close"]:
                continue
            for number in wanted:
                if number < len(values) and not _CALL.match(values[number][0].strip()):
                    yield names[number], *_inside(text, *values[number].span())


def _listed(text: str) -> Iterator[tuple[str, int, int]]:
    for head in _LIST_OF_NAMES.finditer(text):
        names = [_bare(name) for name in head["names"].split(",")]
        table = _Columns.of(names)
        at = head.end()
        while table and (row := _LIST.match(text, at)):
            values, at = [*_LISTED.finditer(text, *row.span("values"))], row.end()
            for name, number in table.secrets([_bare(value[0]) for value in values], len(names)):
                yield name, *_inside(text, *values[number].span())


def _tabled(text: str) -> Iterator[tuple[str, int, int]]:
    begin, lines = 0, list[tuple[int, int]]()
    for found in _LINE_END.finditer(text):
        lines.append((begin, found.start()))
        begin = found.end()
    lines.append((begin, len(text)))
    table, divider, fields = _NO_COLUMNS, "", 0
    for begin, end in lines:
        line = text[begin:end]
        begin += len(line) - len(line := _PREFIX.sub("", line, count=1))
        if table and _RULER.fullmatch(line):
            continue
        row = _fields(line, divider) if table else ()
        if not table or len(row) != fields or (table.named and _columns(line, divider).named):
            table = _columns(line, divider := _divider(line))
            fields = len(_fields(line, divider)) if table else 0
            continue
        for name, number in table.secrets([_bare(line[first:last]) for first, last in row], fields):
            yield name, *_inside(text, begin + row[number][0], begin + row[number][1])


class _Columns(NamedTuple):
    """Where in a row a secret may stand: under a name that speaks of one, or as the value of the row's own name."""

    named: Mapping[int, str]
    name: int = -1
    value: int = -1

    def __bool__(self) -> bool:
        return bool(self.named) or self.value >= 0

    @classmethod
    def of(cls, names: Sequence[str]) -> _Columns:
        named = {number: name for number, name in enumerate(names) if name and _speaks_of_secret(name)}
        lower = [name.lower() for name in names]
        own = next((number for number, name in enumerate(lower) if name in _OF_NAMES), -1)
        held = next((number for number, name in enumerate(lower) if name in _OF_VALUES and number != own), -1)
        return cls(named, own, held) if own >= 0 and held >= 0 else cls(named)

    def secrets(self, row: Sequence[str], fields: int) -> Iterator[tuple[str, int]]:
        """Yield the secrets of a row: the name of each, and the number of its field."""
        if len(row) != fields:
            return
        for number, name in self.named.items():
            yield name, number
        if self.value >= 0 and self.value not in self.named and _speaks_of_secret(row[self.name]):
            yield row[self.name], self.value


_NO_COLUMNS = _Columns({})
_OF_NAMES = frozenset(
    {"key", "name", "field", "property", "setting", "parameter", "variable", "variable_name", "option", "attribute"}
)
_OF_VALUES = frozenset({"value", "setting", "data", "content", "current value"})


def _speaks_of_secret(name: str) -> bool:
    return speaks_of_secret(name.replace(" ", "_"))


def _columns(line: str, divider: str) -> _Columns:
    """Return the columns of a head; none where a line is no head."""
    if not divider or len(line) > _LONGEST_HEAD or "[redacted" in line:
        return _NO_COLUMNS
    names = [_bare(line[begin:end]) for begin, end in _fields(line, divider)]
    if len(names) < 2 or not all(map(_NAME.fullmatch, filter(None, names))) or sum(map(bool, names)) < 2:
        return _NO_COLUMNS
    if (divider == " " and line.upper() != line) or (divider in ",;" and _PROSE.search(line)):
        return _NO_COLUMNS
    return _Columns.of(names)


class Walked:
    """What was walked of a text in blocks that begin one behind the other, so that blocks within blocks cost no more.

    From where a walk stood between two values, the next one would find what it found: that goes on where it ended.
    """

    def __init__(self, text: str) -> None:
        self._between = bytearray(len(text) + 1)
        self._end = 0

    def values(self, text: str, end: int) -> Iterator[tuple[str, int, int]]:
        """Yield each value of the block that begins at `end` and was not walked yet: its name, and its place."""
        in_go = _IN_GO.match(text, end)
        block = in_go or _IN_BRACES.match(text, end) or _FURTHER_IN.match(text, end) or _SECTION.match(text, end)
        if block is None:
            return
        (at, till), pairs = block.span("block"), _PAIR_OF_GO if in_go else _PAIR
        while True:
            if self._between[at] and at < self._end:
                at = self._end
            if (pair := pairs.search(text, at, till)) is None:
                break
            self._between[at : pair.start() + 1] = b"\1" * (pair.start() + 1 - at)
            at = pair.end()
            begin, last = _inside(text, *pair.span("value"))
            name = pair["name"] or ""
            if name.lower() not in words_of_blocks("beside") and _OF_ID.search(name) is None:
                yield name, begin, last
        last_line = max(text.rfind("\n", at, till) + 1, at)  # whose last name may have its value behind the block
        self._between[at : last_line + 1] = b"\1" * (last_line + 1 - at)
        self._end = max(self._end, last_line)


_QUOTE = r"\\{0,3}[\"']"
# In a line of a log and an answer in JSON: a level, or a text that says something.
_SAID = (
    rf"{_QUOTE}(?:(?:errors?|message|msg){_QUOTE}\s{{0,4}}:[\s\[]{{0,8}}{_QUOTE}\w"
    rf"|level{_QUOTE}\s{{0,4}}:\s{{0,4}}(?:{_QUOTE})?(?i:\d|trace|debug|info|notice|warn|err|crit|fatal|panic))"
)
_IN_BRACES = re.compile(
    rf"(?:{_QUOTE})?\s{{0,4}}(?:[:=]|=>)?\s{{0,4}}(?:\[|\{{(?![^{{}}]{{0,400}}{_SAID}))"
    r"(?P<block>(?:[^{}\[\]]|\[redacted[^\[\]]{0,40}\]|\{[^{}\[\]]{1,400}\}){1,4000})(?=[}\]]|\Z)"
)
_SECTION = re.compile(r"\][ \t]{0,8}\n(?P<block>(?:[ \t]{0,8}[\w.@-]{1,80}[ \t]{0,8}=[^\n]{0,400}(?:\n|\Z)){1,200})")
_FURTHER_IN = re.compile(
    r"[\"']?:[ \t]{0,4}\n(?P<block>(?P<in>[ \t]{0,24})(?:- |(?<=[ \t]))(?![ \t])[^\n]+"
    r"(?:\n(?P=in)(?:- |[ \t]|(?<=[ \t]))[^\n]+){0,200})"
)
_PAIR = re.compile(
    r"(?:(?<=[\s{,\[])|^)(?:- )?(?:(?P<quote>\\{0,3}[\"']?)(?P<name>[\w.@/-]{1,80})(?P=quote)\s{0,8}"
    r"(?:[:=]|=>)(?:[ \t]{1,8}|(?<==)(?=[^\s=>])|\s{0,8}(?=[\\\"']))"
    r"|(?<=- )|(?<=\[)|(?<=, )|(?=\\{0,3}[\"'][^\"'\n]{1,400}[\"'](?!\s{0,8}[:=])))"
    r"(?P<value>\\{0,3}(?P<text>[\"'])(?:(?!(?P=text)|\\{1,3}(?P=text))[^\n])*\\{0,3}(?P=text)"
    r"|[^\s\"'{}\[\],\\|>&*!][^\s{}\[\],\\]*)"
)


# Words of Go's list or map, which only blanks divide.
_IN_GO = re.compile(r"\\{0,3}\"?[:=] ?\\{0,3}\"?(?:map)?\[(?P<block>[^\[\]{}\"',\n]{1,4000})\]")
_PAIR_OF_GO = re.compile(
    r"(?:(?<=\[)|(?<= )(?=[a-z]*[^\sa-z\]]))(?:(?P<name>[\w.-]{1,80}):)?(?P<value>[^\s:]{4,400})(?![^\s\]])"
)


@functools.cache
def words_of_blocks(which: str) -> frozenset[str]:
    """Return the names in a block that are no secret's, or may be one's."""
    return frozenset(secret_rows()["names"][which].split())


_OF_ID = re.compile(r"(?i:(?:\A|(?<!session)[_.-]|key)(?:uu?)?id)\Z|(?<=[a-z])(?<!ession)(?:Uu?)?I[dD]\Z")


def _divider(line: str) -> str:
    for divider in ("|", "\t", "\\t", ";", ","):
        if divider in line:
            return divider
    return "  " if _GAP.search(line.strip()) else " " if " " in line.strip() else ""


def _fields(line: str, divider: str) -> Sequence[tuple[int, int]]:
    if divider in ("  ", " "):
        return [word.span() for word in (_SPACED if divider == "  " else _WORD).finditer(line)]
    begin, end = len(line) - len(line.lstrip(" ")), len(line.rstrip(" "))
    if divider == "|":
        begin += line.startswith("|", begin)
        end -= line.endswith("|", begin, end)
    fields, last = [], begin
    for found in _FIELD[divider].finditer(line, begin, end):
        fields.append(found.span("field"))
        last = found.end()
    if line.endswith(divider, begin, end) and last == end:
        fields.append((end, end))
    return fields


def _inside(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return the place of a field without the blanks and the quotes around it."""
    found = _WITHIN.fullmatch(text, begin, end)
    if found:
        return found.span("value")
    value = text[begin:end]
    return begin + len(value) - len(value.lstrip()), end - len(value) + len(value.rstrip())


def _bare(name: str) -> str:
    return name.strip().strip("\\\"'`[]* ").strip()


_LONGEST_HEAD = 1000
_LINE_END = re.compile(r"\r?\n|(?:\\r)?\\n")
_PREFIX = re.compile(r"^[^\n]{0,120}?:\s{0,4}\\{0,3}\"(?=[^\n\"]{1,200}\Z)|^[^\n]{0,80}?\]: ")
_PROSE = re.compile(r"[,;] [\w-]+ |[,;]\Z")  # a sentence has words after its commas
_RULER = re.compile(r"[\s|+:=─┼-]{3,}|")
_GAP = re.compile(r" {2,}")
_NAME = re.compile(r"[^\W\d][\w./#-]{0,40}(?: [\w./#()-]{1,20}){0,2}")
_SPACED = re.compile(r"\S+(?: \S+)*")
_WORD = re.compile(r"\S+")
_QUOTED = r'(?:\\{0,3}"(?:[^"\\\n]|""|\\(?!"[,;|\t]|"\Z).)*\\{0,3}"|\'[^\'\n]*\')'
_FIELD = {
    divider: re.compile(rf"(?P<field>[ ]*{_QUOTED}[ ]*(?=\Z|{sign})|(?:(?!{sign}).)*)(?:{sign}|\Z(?<=.))")
    for divider, sign in ((divider, re.escape(divider)) for divider in ("|", "\t", "\\t", ";", ","))
}
_WITHIN = re.compile(r"\s*(?:[NnEeBbXx](?='))?(?P<quote>\\{0,3}(?:\"|'|`))(?P<value>.*?)(?:(?P=quote))?\s*", re.DOTALL)
_INTO = re.compile(
    r"(?i:\b(?:insert|replace|upsert|merge)\b[^()\n]{0,60}?\binto\s+)[^\s()]{1,120}\s*\((?P<names>[^()]{1,2000})\)"
    r"(?:[^()';]{0,200}?)(?i:\bvalues?)\s*(?=\()"
)
_TEXT = r"(?:'(?:[^'\\]|''|\\.)*'|\\\"(?:[^\"\\]|\\(?!\")|\\\\)*\\\"|\"(?:[^\"\\]|\"\"|\\.)*\"|\\'(?:[^'\\])*\\')"
_OPEN = r"(?:\\?[\"'][^\"'\n]*\Z)?"  # a text that was cut off
_ROW = re.compile(
    rf"[\s,]{{0,20}}\((?P<values>(?:{_TEXT}|[^()'\"\\]|\\(?![\"'])|\([^()]{{0,200}}\)){{0,4000}}+{_OPEN})(?P<close>\)|\Z)",
    re.DOTALL,
)
_NAME_IN_LIST = r"\\{0,3}\"[\w ./-]{1,60}\\{0,3}\""
_LIST_OF_NAMES = re.compile(
    rf"\[\s{{0,20}}(?P<names>{_NAME_IN_LIST}(?:\s{{0,20}},\s{{0,20}}{_NAME_IN_LIST}){{1,60}})\s{{0,20}}\]"
    r"\s{0,20},\s{0,20}(?:\\{0,3}\"\w{1,20}\\{0,3}\"\s{0,20}:\s{0,20}\[|(?=\[))"
)
_LISTED = re.compile(r"\s{0,20}(?:\\{0,3}\"(?:[^\"\\]|\\{1,3}[^\"\\])*\\{0,3}\"|[^\s,\"\[\]]{1,100})\s{0,20}")
_LIST = re.compile(r"[\s,]{0,20}\[(?P<values>(?:\\{0,3}\"(?:[^\"\\]|\\{1,3}[^\"\\])*\\{0,3}\"|[^\"\[\]\\]){1,4000}+)\]")
_VALUE = re.compile(rf"(?:{_TEXT}|[^(),'\"\\]|\\(?![\"'])|\([^()]{{0,200}}\))+{_OPEN}|{_OPEN}(?<=.)", re.DOTALL)
_CALL = re.compile(r"(?i:now|null|default|current_\w+|\?|\$\d+|:\w+|%s|@\w+)(?!\w)(?:\(\))?$")
