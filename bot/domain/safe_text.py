"""Text from outside, made safe: fit to show, without the secrets in it, and no longer than there is room.

To show: control and bidirectional characters become visible escapes. To store: a mark that names its kind replaces each
key, token or password; `playbooks/tables/secrets.toml` says what is recognised.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.domain.secret_forms import (
    CONTROLS,
    KEY_EDGES,
    KEY_ENDS,
    KEY_MARK,
    MARK,
    UNSEEN,
    ShortTexts,
    context,
    may_speak_of_secret,
    opens,
    table,
    without_values,
)
from bot.domain.secret_names import speaks_of_secret
from bot.domain.secret_shown import are_words_of_command

# Two names that look the same are the same, and no reader, such as a model behind MCP, gets words that people do not
# see. A selector that makes a sign an emoji stays behind a sign that can be one. No XML may hold U+FFFE or U+FFFF.
_CAN_BE_EMOJI = (
    r"\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2934\u2935\u2b00-\u2bff"
    r"\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_UNSAFE = re.compile(
    rf"(?<![{_CAN_BE_EMOJI}])[\ufe0e\ufe0f](?!\u20e3)"
    rf"|(?![\ufe0e\ufe0f])[\x00{CONTROLS}{UNSEEN}\ud800-\udfff\ufffe\uffff]"
)

# Most texts hold only these, and this test costs a tenth of the search for unsafe characters.
_HARMLESS = bytes([*range(0x20, 0x7F), *b"\t\n"])


def _escape(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def safe(text: str) -> str:
    """Return `text` with every unsafe character as a visible escape; applying it twice changes nothing.

    Example:
    >>> safe("ok\\tfine\\n\\x1b[31mred")
    'ok\\tfine\\n\\\\x1b[31mred'
    """
    if text.isascii() and (text.isprintable() or not text.encode().translate(None, _HARMLESS)):
        return text
    return _UNSAFE.sub(_escape, text)


def safe_value(value: Any) -> Any:
    """Return a JSON value in which every text, also as a name, is safe."""
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, Mapping):
        return {safe(name): safe_value(held) for name, held in value.items()}
    return [safe_value(held) for held in value] if isinstance(value, list | tuple) else value


def decode(raw: bytes) -> str:
    """Decode a node's bytes as UTF-8, with invalid bytes as visible escapes, and make the text safe.

    Example:
    >>> decode(b"caf\\xc3\\xa9 \\xff")
    'café \\\\xff'
    """
    if not raw.translate(None, _HARMLESS):
        return raw.decode("ascii")
    return safe(raw.decode("utf-8", errors="backslashreplace"))


def one_line(text: str, limit: int = 200) -> str:
    """Return the text made safe, on a single line and at most `limit` characters long.

    Example:
    >>> one_line("a\\n  b   c")
    'a b c'
    """
    flat = " ".join(safe(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def listed(words: Sequence[str], most: int, between: str = ", ") -> str:
    """Return the first `most` words as text, and the count of the others.

    Example:
    >>> listed(["a", "b", "c", "d"], 2), listed(["a"], 2)
    ('a, b and 2 more', 'a')
    """
    return between.join(words[:most]) + (f" and {len(words) - most:,} more" if len(words) > most else "")


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    Example:
    >>> counted(68440, "cgroup"), counted(1, "reset")
    ('68,440 cgroups', '1 reset')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def redacted_text(text: str) -> str:
    """Return a text without its secrets; applying it twice changes nothing.

    Example:
    >>> redacted_text("mysql --password hunter2 -h db")
    'mysql --password [redacted] -h db'
    """
    return table().cut(cut_private_keys(text, inside=False, above=[])[0])


def redacted_line(text: str, limit: int = 200) -> str:
    """Return what another said as a line of ours: without its secrets, and cut after that.

    Half a secret does not look like one.

    Example:
    >>> redacted_line("su:\\n  --password hunter2", 30)
    'su: --password [redacted]'
    """
    return one_line(redacted_text(safe(text)), limit)


def without_cut_secret(text: str) -> str:
    r"""Return a text whose beginning was cut off without what may be the rest of a secret whose name is gone.

    Shape: without its first line; where it is the only one, without its first words.

    Example:
    >>> without_cut_secret("unter2 -h db\nno such host\n")
    'no such host\n'
    """
    first, _, rest = text.partition("\n")
    return rest if rest.strip() else first[_NEAR_A_NAME:].partition(" ")[2]


_NEAR_A_NAME = 100  # characters


def redacted(value: Any) -> Any:
    """Return a JSON value with every text in it redacted.

    A list of texts is read as the lines of a single text, because a private key arrives as such lines.

    Example:
    >>> redacted({"lines": ["user=ann", "db_password: x"], "token": "abc"})
    {'lines': ['user=ann', 'db_password: [redacted]'], 'token': '[redacted]'}
    """
    return Redactor().value(value)


class Redactor:
    """Redacts many similar values, such as those of a fleet's nodes.

    A text without secrets is remembered and not searched again; a text with a secret is never remembered.
    """

    def __init__(self) -> None:
        self._harmless = ShortTexts[None]()
        self._names = ShortTexts[tuple[bool, bool]]()  # is the value under it a secret, and may it be one

    def value(self, value: Any) -> Any:
        """Return what `redacted` does."""
        if isinstance(value, str):
            return value if self.is_harmless(value) else redacted_text(value)
        if isinstance(value, Mapping):
            return self._redacted_mapping(value)
        if isinstance(value, Sequence):
            return self._redacted_list(value)
        return value

    def searched_texts(self) -> frozenset[str]:
        """Return the texts that would not be searched again."""
        return frozenset(self._harmless.keys() | self._names.keys())

    def _redacted_mapping(self, values: Mapping[str, Any], is_named: bool = False) -> dict[str, Any]:
        hidden = ("value", "default") if is_named else _PARTS_OF_KEY if "kty" in values else ()
        is_kubernetes = values.get("kind") == "Secret"
        clean = {}
        for name, item in values.items():
            says = self._label(values, item) or name if name in _OF_VALUES else name
            is_secret, is_told = self._is_secret(says)
            is_secret = is_secret or name in hidden
            shown = name if name in self._names else redacted_text(name)
            if type(item) in _NO_TEXT:
                clean[shown] = item
            elif is_secret and isinstance(item, str) and item:
                clean[shown] = MARK
            elif is_secret and isinstance(item, Sequence):
                clean[shown] = [MARK if isinstance(each, str) and each else self.value(each) for each in item]
            elif is_secret and isinstance(item, Mapping):
                clean[shown] = _without_named_secrets(says, self._redacted_mapping(item, is_named=True))
            elif is_kubernetes and name in ("data", "stringData") and isinstance(item, Mapping):
                clean[shown] = {redacted_text(key): MARK if held else held for key, held in item.items()}
            elif is_told:
                clean[shown] = _without_named_secrets(says, self.value(item))
            else:
                clean[shown] = self.value(item)
        return _without_listed_secrets(clean) if "columns" in clean else clean

    def _label(self, values: Mapping[str, Any], value: Any) -> str:
        """Return what a mapping says that its value is: of its labels, the one that speaks most of a secret."""
        is_word = isinstance(value, str) and len(value.split()) == 1
        labels = (
            label
            for key, label in values.items()
            if isinstance(label, str)
            and (key in _OF_LABELS or (key in _OF_THINGS and (is_word or label.isidentifier())))
        )
        return max(labels, key=self._is_secret, default="")

    def _redacted_list(self, values: Sequence[Any]) -> list[Any]:
        if all(isinstance(value, str) and value for value in values) and are_words_of_command("\n".join(values)):
            values = table().cut_words(values)
        if all(self.is_harmless(value) for value in values if isinstance(value, str)):
            return self._redacted_rows(
                values, [value if type(value) in _PLAIN else self.value(value) for value in values]
            )
        secrets = dict[str, None]()
        texts = iter(table().cut_lines([value for value in values if isinstance(value, str)], secrets))
        values = [next(texts) if isinstance(value, str) else value for value in values]
        found: list[Any] = []
        inside = is_next = is_value = False
        for value in values:
            if isinstance(value, str):
                rest, inside = cut_private_keys(value, inside, above=found)
                before, rest = rest, context().value.cut(rest) if is_value else rest
                found.append(MARK if is_next and rest else table().cut(rest, secrets))
                is_next, is_named = _precedes_secret(before)
                is_value = is_named or (is_value and rest == before and context().on.match(before) is not None)
            else:
                found.append(self.value(value))
        found = [without_values(value, secrets) if isinstance(value, str) else value for value in found]
        return self._redacted_rows(values, found)

    def _redacted_rows(self, values: Sequence[Any], found: list[Any]) -> list[Any]:
        """Return rows in which each column is read as the lines of a single text too, as a log's rows are."""
        columns: dict[tuple[Any, ...], list[tuple[int, str]]] = {}
        for number, row in enumerate(values):
            for path, text in _texts_of_log_row(row, _DEEPEST):
                columns.setdefault(path, []).append((number, text))
        for path, texts in columns.items():
            if all(text in self._harmless or not _may_open_secret(text) for _, text in texts):
                continue
            kept: list[Any] = []
            inside = False
            for _, text in texts:
                rest, inside = cut_private_keys(text, inside, above=kept)
                kept.append(rest)
            for (number, text), line in zip(texts, table().cut_lines(kept), strict=True):
                if line == text:
                    continue
                row = found[number]
                for name in path[:-1]:  # a name or a value may have been cut out whole
                    row = row.get(name) if isinstance(row, dict) else row[name] if isinstance(row, list) else None
                if isinstance(row, list) or (isinstance(row, dict) and row.get(path[-1], MARK) != MARK):
                    row[path[-1]] = self.value(line)
        return found

    def is_harmless(self, text: str) -> bool:
        """True if a text holds no secret, and does not make the next text of a list a secret."""
        if text in self._harmless:
            return True
        if redacted_text(text) != text or any(_precedes_secret(text)) or opens(text):
            return False
        self._harmless.remember(text, None)
        return True

    def _is_secret(self, name: str) -> tuple[bool, bool]:
        known = self._names.get(name)
        if known is None:
            known = speaks_of_secret(name), may_speak_of_secret(name)
            if self.is_harmless(name):
                self._names.remember(name, known)
        return known


_PLAIN_NAME = re.compile(r"[\w.:/ -]{1,200}")


def _as_written(words: str) -> frozenset[str]:
    return frozenset(f"{words} {words.title()} {words.upper()}".split())


# A pair of a name and a value is read as the value under that name: a variable of Kubernetes, a parameter of AWS.
_OF_LABELS = _as_written("name key k variable var field property setting option param attribute") | {
    *("parameterKey", "ParameterKey", "parameterName", "ParameterName")
}
_OF_THINGS = _as_written("id title label")  # several words under one may be a report: of a service called token-svc
_OF_VALUES = _as_written("value val v data content") | {"parameterValue", "ParameterValue"}
_PARTS_OF_KEY = ("d", "p", "q", "dp", "dq", "qi", "k")  # as JSON has a private key
_NO_TEXT = frozenset({int, float, bool, type(None)})
_PLAIN = _NO_TEXT | {str}


def _texts_of_log_row(row: Any, deepest: int) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Return the texts of a log's row, also of the mappings in it, each with the names that lead to it."""
    if isinstance(row, Mapping) and row.keys() >= _OF_WHAT_ENDS:
        return  # such rows have nothing to do with each other: a database beside redis-token keeps its name
    if isinstance(row, Mapping | list | tuple):
        for name, item in row.items() if isinstance(row, Mapping) else enumerate(row):
            if isinstance(item, str):
                yield (name,), item
            elif isinstance(item, Mapping) and deepest:
                yield from (((name, *path), text) for path, text in _texts_of_log_row(item, deepest - 1))


_DEEPEST = 3  # mappings within a row
_OF_WHAT_ENDS = frozenset({"what", "kind", "count", "gpus"})  # of EndedItem


_BLOCK_OF_SECRETS = re.compile(r"(?i:(?:password|passwd|passphrase|credential|secret|token|key)s)\Z")


def _without_named_secrets(name: str, value: Any) -> Any:
    """Return a value without what is a secret only because of its name: {"auth": "ZmFrZTpmYWtl"}."""
    texts = value if isinstance(value, list) else [value]
    is_block = isinstance(value, Mapping) and (speaks_of_secret(name) or _BLOCK_OF_SECRETS.search(name) is not None)
    if not value or not (is_block or all(isinstance(text, str) for text in texts)) or not _PLAIN_NAME.fullmatch(name):
        return value
    whole = json.dumps({name: value}, ensure_ascii=False)
    kept = redacted_text(whole)
    if kept == whole:
        return value
    try:
        return next(iter(json.loads(kept).values()))
    except ValueError:
        return MARK


def _without_listed_secrets(values: dict[str, Any]) -> dict[str, Any]:
    """Return a mapping without what stands in the columns that it names: {"columns": ["password"], "rows": [["x"]]}."""
    columns = values["columns"]
    if not isinstance(columns, list) or not any(isinstance(name, str) and speaks_of_secret(name) for name in columns):
        return values
    try:
        return dict(json.loads(redacted_text(json.dumps(values, ensure_ascii=False))))
    except ValueError:
        return dict.fromkeys(values, MARK)


def _precedes_secret(text: str) -> tuple[bool, bool]:
    """Whether the next text of a list is a secret, and whether a `value` in that text is."""
    end = text[-200:]
    return _match_names_secret(context().next.search(end)), _match_names_secret(context().named.search(end))


def _match_names_secret(found: re.Match[str] | None) -> bool:
    if found is None:
        return False
    names = [name for name in found.groupdict().values() if name]
    return not names or any(map(speaks_of_secret, names))


def _may_open_secret(text: str) -> bool:
    return opens(text) or KEY_EDGES.search(text) is not None


def cut_private_keys(text: str, inside: bool, above: list[Any]) -> tuple[str, bool]:
    """Return the text without private key blocks, and whether a block is still open at its end.

    Where a key ends whose beginning was lost, it is also cut out of the lines `above`.
    """
    kept: list[str] = []
    while True:
        edge = (KEY_ENDS if inside else KEY_EDGES).search(text)
        if inside:
            kept.append(KEY_MARK)
        if edge is None:
            return "".join(kept) if inside else "".join([*kept, text]), inside
        before, text = text[: edge.start()], text[edge.end() :]
        if inside:
            inside = False
        elif edge[0].lstrip("- ").startswith("END"):
            if not kept:
                _cut_key_upwards(above)
            kept += [_cut_key_above_end(before), KEY_MARK]
        else:
            kept.append(before)
            inside = True


def _cut_key_above_end(text: str) -> str:
    parts: list[Any] = _LINE_ENDS.split(text)
    lines = parts[::2]
    if len(lines) > 1:
        lines.pop()  # the line of the end itself begins as a log's lines do
    _cut_key_upwards(lines)
    parts[: 2 * len(lines) : 2] = lines
    return "".join(parts)


def _cut_key_upwards(lines: list[Any]) -> None:
    """Cut a private key out of the lines above its end: their last words, as long as these are of it."""
    form = _LAST_OF_KEY
    for at in range(len(lines) - 1, -1, -1):
        found = form.search(lines[at], max(len(lines[at]) - _LONGEST_KEY, 0)) if isinstance(lines[at], str) else None
        if found is None:
            return
        lines[at] = lines[at][: found.start()] + KEY_MARK
        form = _LINE_OF_KEY


_LINE_ENDS = re.compile(r"(\\n|\n)")
_WORDS_OF_KEY = r"(?<![\w+/=])(?:[A-Za-z0-9+/]{16,80}={0,2}\s{1,4}){0,200}"
_LINE_OF_KEY = re.compile(_WORDS_OF_KEY + r"[A-Za-z0-9+/]{16,80}={0,2}(?:\\x0d|\s){0,4}\Z")
_LAST_OF_KEY = re.compile(_WORDS_OF_KEY + r"[A-Za-z0-9+/]{2,80}={0,2}(?:\\x0d|\s){0,4}\Z")
_LONGEST_KEY = 8192  # characters
