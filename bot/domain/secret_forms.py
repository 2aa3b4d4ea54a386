"""The table of secrets: what keys, tokens and passwords look like, and the names that a secret follows.

Source: `playbooks/tables/secrets.toml`, which says what its columns are; it is read when the first text is searched. A
site's rows are added to ours, and cannot remove one. A text is searched only for forms of which it holds a literal.
"""

from __future__ import annotations

import bisect
import functools
import hashlib
import itertools
import json
import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from bot.domain.builtin_playbooks import SiteRows
from bot.domain.secret_columns import Walked, column_values, is_head, words_of_blocks
from bot.domain.secret_names import OTHER, PASSWORD, Name, machine_made, secret_names, secret_rows, speaks_of_secret
from bot.domain.secret_shown import (
    are_words_of_command,
    command_values,
    end_of_string,
    environment_values,
    password_words_after_names,
)

T = TypeVar("T")

_BLOCK = r"(?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)-----"
_SSH2 = "SSH2 ENCRYPTED PRIVATE KEY ----"
KEY_ENDS = re.compile(rf"-----END {_BLOCK}|---- END {_SSH2}")
KEY_EDGES = re.compile(rf"-----(?:BEGIN|END) {_BLOCK}|---- (?:BEGIN|END) {_SSH2}")
KEY_MARK = "[redacted: private key]"
MARK = "[redacted]"

# What Unicode lets nobody see (Default_Ignorable_Code_Point), bidirectional marks, and the line separators that some
# viewers obey; and control characters, but for tab, newline and NUL, which stands between words: for a pattern's [].
UNSEEN = (
    r"\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    r"\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
CONTROLS = r"\x01-\x08\x0b-\x1f\x7f-\x9f"


class Pattern(Protocol):
    """A compiled pattern of `re` or of re2."""

    @property
    def groupindex(self) -> Mapping[str, int]: ...

    def finditer(self, string: str) -> Iterator[Any]: ...


@dataclass(frozen=True, slots=True)
class SecretForm:
    """A row of the table. `form` is its pattern, or the text of it, which is not compiled before it is needed.

    Shape: a form with `kinds` is looked for at the names of these kinds alone, and `before` ends where they begin; what
    a form to `decode`, hexadecimal digits or bytes, finds is a secret only where they spell one; a `block` goes over
    several lines, and a form of `lines` is in no text of one.
    """

    name: str
    has: tuple[str, ...]
    starts: tuple[str, ...]
    long: bool
    mark: str
    decode: str
    form: str | Pattern
    block: bool = False
    kinds: tuple[str, ...] = ()
    before: str = ""
    lines: bool = False

    def compile(self) -> None:
        """Compile its patterns now; otherwise they are when they are needed."""
        for pattern in (self.form, self.before):
            if isinstance(pattern, str):
                _compiled(pattern)

    def cut(self, text: str) -> str:
        """Return a text with the mark in place of each secret of this form."""
        return apply_cuts(text, self.found(text))

    def found(self, text: str, names: Sequence[Name] | None = None) -> list[Cut]:
        """Return what is to be cut out of a text, from its beginning on; `names` are those in it, where known."""
        if self.form == _MACHINE_MADE:
            return [Cut(*span, self.mark) for span in machine_made(text)]
        if isinstance(self.form, str) and (of_what_is_shown := _OF_WHAT_IS_SHOWN.get(self.form)):
            names = secret_names().found(text, text.lower()) if names is None and self.kinds else names
            words = sorted({*of_what_is_shown(text, names or ())})
            cuts = [_within_quotes(text, begin, end, self.mark) for begin, end in words]
            return [cut._replace(goes_on=self.form != _SENTENCE) for cut in cuts if cut.begin < cut.end]
        if self.form == _COLUMNS:
            spans = dict(_in_blocks(text, names)) | dict.fromkeys(_in_columns(text), True)
            return [Cut(*span, self.mark, goes_on) for span, goes_on in sorted(spans.items())]
        pattern: Any = _compiled(self.form) if isinstance(self.form, str) else self.form
        if self.kinds:
            names = secret_names().found(text, text.lower()) if names is None else names
            if not any(name.kind in self.kinds for name in names):
                return []
            return (
                self._found_with_name(pattern, text)
                if "name" in pattern.groupindex
                else self._values_after_names(pattern, text, names)
            )
        group = pattern.groupindex.get("secret", 0)
        cuts = []
        for found in pattern.finditer(text):
            begin, end = found.span(group)
            if begin < 0:
                continue
            cut = _within_quotes(text, begin, end, self.mark)
            if cut.begin < cut.end:
                cuts.append(cut)
        return cuts

    def _found_with_name(self, pattern: Any, text: str) -> list[Cut]:
        """Return the secrets of a form that holds their name too."""
        cuts, at = [], 0
        while found := pattern.search(text, at):
            group = next(group for group in _NAME_GROUPS if found.groupdict().get(group) is not None)
            if secret_names().kind(found[group]) not in self.kinds:
                at = found.end(group)
                continue
            begin, at = found.span("secret")
            cut = _within_quotes(text, begin, at, self.mark)
            if cut.begin < cut.end:
                cuts.append(cut)
        return cuts

    def _values_after_names(self, after: Any, text: str, names: Iterable[Name]) -> list[Cut]:
        """Return the values of names that speak of a secret."""
        before, cuts, last = _compiled(self.before) if self.before else None, [], 0
        for name in names:
            if name.begin < last or name.kind not in self.kinds:
                continue
            if before is not None and not before.search(text, max(name.begin - _LONGEST_SIGN, 0), name.begin):
                continue
            if (found := after.match(text, name.end)) is None:
                continue
            begin, last = found.span("secret")
            cut = _within_quotes(text, begin, last, self.mark)
            if cut.begin < cut.end:
                cuts.append(cut)
        return cuts


_NAME_GROUPS = ("name", "other")


class Cut(NamedTuple):
    """A part of a text, and what goes in its place; `goes_on` if it is a secret wherever else it stands."""

    begin: int
    end: int
    mark: str
    goes_on: bool = True


def apply_cuts(text: str, cuts: Iterable[Cut]) -> str:
    """Return a text with marks in place of what is cut."""
    kept, end = [], 0
    for cut in cuts:
        kept += [text[end : cut.begin], cut.mark]
        end = cut.end
    return "".join([*kept, text[end:]])


def _longest(cuts: Iterable[Cut]) -> list[Cut]:
    """Return cuts in the order of the text, without those within another."""
    kept, end = list[Cut](), 0
    for cut in sorted(cuts, key=lambda cut: (cut.begin, -cut.end)):
        if cut.end > end:
            kept.append(cut._replace(begin=max(cut.begin, end)))
            end = cut.end
    return kept


def _within_quotes(text: str, begin: int, end: int, mark: str) -> Cut:
    """Return the cut of a value. JSON stays JSON: quotes stay, and a bare value after a name in quotes gets them."""
    if '"' in text[begin:end] and (closed := end_of_string(text, begin)) is not None:
        end = min(end, closed)
    if quoted := _QUOTED.match(text, begin, end):
        return Cut(begin + len(quoted["open"]), end - len(quoted["close"] or ""), mark)
    if named := _NAMED.search(text, max(begin - _LONGEST_SIGN, 0), begin):
        mark = f"{named['quote']}{mark}{named['quote']}"
    return Cut(begin, _end_before_brackets(text, begin, end), mark)


def _end_before_brackets(text: str, begin: int, end: int) -> int:
    """Return the end of a bare value, without the brackets that close what was opened before it on its line."""
    before = text[max(text.rfind("\n", 0, begin), begin - _LONGEST_LINE, 0) : begin]
    while end - 1 > begin and (opening := _OPENING.get(text[end - 1])):
        if text.count(opening, begin, end) or before.count(opening) <= before.count(text[end - 1]):
            break
        before += text[end - 1]
        end -= 1
    return end


_OPENING = {"}": "{", ")": "(", "]": "["}
_LONGEST_LINE = 400  # characters before a value
_QUOTED = re.compile(
    r"(?P<open>\\{0,3}(?:\"\"\"|[\"'`])|&(?:quot|#34|apos|#39);|%2[27]).*?(?P<close>(?P=open))?\Z", re.DOTALL
)
_NAMED = re.compile(r"(?P<quote>\\{0,3}\")\s*:\s*\Z")
_LONGEST_SIGN = 80


_MOST_REMEMBERED, _LONGEST_REMEMBERED = 16_384, 256  # texts and their characters: a few MB


class ShortTexts(dict[str, T]):
    """What is known of short texts without secrets: never more than a few MB of it, for then it begins anew."""

    def remember(self, text: str, known: T) -> None:
        """Remember it, unless the text is long."""
        if len(text) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[text] = known


class SecretTable:
    """Rows in their order, found by the literals in a text.

    A text without secrets is remembered, for most are searched again and again: what a node says when it is read, and
    when it is stored. One with a secret is never remembered.
    """

    def __init__(self, forms: Iterable[SecretForm], parts: Mapping[str, str]) -> None:
        self.forms = tuple(forms)
        self.parts = parts
        literals: dict[str, tuple[int, ...]] = {}
        self._starts: dict[bytes, tuple[tuple[str, int], ...]] = {}
        for number, form in enumerate(self.forms):
            for has in form.has:
                literals[has] = (*literals.get(has, ()), number)
            for start in form.starts:
                start = start.lower()
                word = start.encode().translate(_TO_WORDS).split()[0][:3]
                self._starts[word] = (*self._starts.get(word, ()), (start, number))
        self._beginnings = frozenset(self._starts)
        by_letter: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
        for has, numbers in literals.items():
            by_letter.setdefault(min(has, key=_RARE.find), []).append((has, numbers))
        self._has = tuple((letter, tuple(rows)) for letter, rows in by_letter.items())
        self._long = tuple(number for number, form in enumerate(self.forms) if form.long)
        self._machine_made = tuple(number for number, form in enumerate(self.forms) if form.form == _MACHINE_MADE)
        self._named = tuple(number for number, form in enumerate(self.forms) if form.kinds and not form.block)
        self._over_lines = frozenset(number for number, form in enumerate(self.forms) if form.lines)
        self._named_above = tuple(number for number, form in enumerate(self.forms) if form.kinds and form.block)
        self._blocks = tuple(form for form in self.forms if form.block)
        self._marks = re.compile("|".join(re.escape(form.mark) for form in self.forms))
        self._clean = ShortTexts[None]()

    def cut(self, text: str, values: dict[str, None] | None = None) -> str:
        """Return a text with a mark in place of each secret; what a cut lays bare is searched too.

        A secret goes wherever else it stands in the text, unless only its sentence makes it one. It is added to
        `values`, where there are more texts.
        """
        found = dict[str, None]()
        text = without_values(self._cut_forms(text, found), found)
        if values is not None:
            values.update(found)
        return text

    def _cut_forms(self, text: str, values: dict[str, None]) -> str:
        name = _short_name(text)
        if name in self._clean:
            return text
        whole = text
        text = self._cut_in_rounds(text, values)
        if are_words_of_command(whole):
            text = self._cut_in_rounds(text.replace("\n", "\t"), values).replace("\t", "\n")
        if text == whole:
            self._clean.remember(name, None)
        return text

    def _cut_in_rounds(self, text: str, values: dict[str, None]) -> str:
        for _ in range(_ROUNDS):
            before, text = text, self._cut_once(text, values)
            if text == before:
                break
        return text

    def cut_words(self, words: Sequence[str]) -> list[str]:
        """Return the words of a command line with a mark in place of each secret."""
        kept = self.cut("\n".join(words)).split("\n")
        return kept if len(kept) == len(words) else [self.cut(word) for word in words]

    def cut_lines(self, lines: Sequence[str], values: dict[str, None] | None = None) -> list[str]:
        """Return the lines of a text with a mark in place of each line of a secret that goes over several."""
        kept = list(lines)
        for _ in range(_ROUNDS):
            before = kept
            whole, view, lower, names = _join_for_search(kept)
            for form in self._blocks:
                is_likely = form.kinds or any(literal in lower for literal in (*form.has, *form.starts))
                if is_likely and (cuts := form.found(view, names)):
                    place = _places_behind(_escaped_signs(whole))
                    cuts = [cut._replace(begin=place(cut.begin), end=place(cut.end)) for cut in cuts]
                    if values is not None:
                        values.update((whole[cut.begin : cut.end].strip(), None) for cut in cuts if cut.goes_on)
                    kept = _marked_lines(kept, cuts)
                    whole, view, lower, names = _join_for_search(kept)
            if kept == before:
                break
        return kept

    def _cut_once(self, text: str, values: dict[str, None]) -> str:
        return apply_cuts(text, self._found(text, values))

    def _found(self, text: str, values: dict[str, None], deepest: int = 3) -> list[Cut]:
        """Return what is to be cut out of a text: first of what its strings in JSON say, then of what it is itself.

        `deepest`: in how many strings within strings, for each is searched whole.
        """
        cuts, read = list[Cut](), bytearray(len(text))
        for string in _JSON_STRING.finditer(text) if deepest and "\\" in text else ():
            variable = _VARIABLE.match(string[0])
            if _JSON_BETWEEN.search(string[0]) and not (variable and speaks_of_secret(variable[1])):
                inner = self._found(_JSON_ESCAPE.sub(_out_of_json, string[0]), values, deepest - 1)
                # A word of a command may be a script that writes JSON, and only what is around it says that it is one.
                is_value = text[max(string.start() - 9, 0) : string.start() - 1].rstrip().endswith('":')
                is_json = is_value and _JSON_WITHIN.match(string[0])
                kind = _MARKED if MARK[:-1] in string[0] else _JSON if is_json else b"\0"
                read[slice(*string.span("escapes"))] = kind * len(string["escapes"])
                found = _JSON_ESCAPE.finditer(string[0])
                place = _places_behind((each.start(), len(each[0]) - len(_out_of_json(each))) for each in found)
                cuts += (
                    Cut(place(cut.begin) + string.start(), place(cut.end) + string.start(), json.dumps(cut.mark)[1:-1])
                    for cut in inner
                )
        return cuts or self._found_outside(text, values, read)

    def _found_outside(self, text: str, values: dict[str, None], read: Sequence[int]) -> list[Cut]:
        """Return what is to be cut, but not behind the first escape of a string in JSON that was `read`.

        That is so for all forms where it has a mark; and for the words of commands where it holds JSON, for in it the
        escapes are no quotes of theirs.
        """
        view = searchable(text)
        lower = view.lower()
        # Most texts hold no literal, and cost only this.
        likely = {
            number
            for letter, rows in self._has
            if letter in lower
            for has, numbers in rows
            if has in lower
            for number in numbers
        }
        words = _word_bytes(lower)
        for word in self._beginnings.intersection(map(_BEGINNING, words)):
            likely.update(number for start, number in self._starts[word] if start in lower)
        longest = len(max(words, key=len)) if words else 0
        if longest >= _LONG:
            likely.update(self._long)
        if longest >= _LONG_BETWEEN_SIGNS:
            likely.update(self._machine_made)
        has_lines = "\n" in view or "\\n" in view
        if names := secret_names().found(view, lower):
            opens = has_lines or "{" in view or any(_OPENS_LIST.match(view, name.end) for name in names)
            likely.update(self._named, self._named_above if opens else ())
        # All in the text as it is, for a mark in a user's place would hide the password beside it. But what nothing
        # says to be harmless is searched for when all else is marked.
        cuts, taken = list[Cut](), bytearray(len(view))
        place = _places_behind(_escaped_signs(text))
        for found in self._marks.finditer(view) if MARK[:-1] in view else ():
            taken[slice(*found.span())] = _KNOWN * len(found[0])
        is_marked = False
        for number in sorted(likely if has_lines else likely - self._over_lines):
            form, before = self.forms[number], len(cuts)
            is_last = form.form in _OF_WHAT_IS_SHOWN
            if is_last and is_marked:
                continue
            for cut in form.found(view, names):
                begin, end, mark, _ = cut
                if form.decode and not self._holds_secret(_decoded(view[begin:end], form.decode)):
                    continue
                if read[place(begin)] in ((_MARKED + _JSON) if form.form == _COMMAND_LINE else _MARKED):
                    continue
                if _TAKEN not in (free := taken[begin:end]) and free.strip(_KNOWN):
                    cuts.append(cut._replace(begin=place(begin), end=place(end)))
                    taken[begin:end] = (_TAKEN if mark == MARK else _KNOWN) * (end - begin)
            if len(cuts) > before:
                is_marked |= not is_last
                names = [name for name in names if not any(taken[name.begin : name.end])]
        # What only its sentence or its block makes a secret may be a node's name, which stays in other lines.
        values.update((text[cut.begin : cut.end].strip(), None) for cut in _longest(cut for cut in cuts if cut.goes_on))
        return _longest(cuts)

    def _holds_secret(self, text: str) -> bool:
        return self._cut_once(text, {}) != text


def without_values(text: str, values: Iterable[str]) -> str:
    """Return a text without secrets that were found elsewhere: those that no other word is, the first of them.

    A word of letters alone is such a one only in what a shell traces.
    """
    for value in itertools.islice(values, _MOST_VALUES):
        if value not in text or not _NO_OTHER.fullmatch(value) or any(value in mark for mark in own_marks()):
            continue
        again = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)")
        if value.isalpha():
            text = _TRACED.sub(functools.partial(_without, again), text)
        else:
            text = again.sub(MARK, text)
    return text


def _without(again: re.Pattern[str], line: re.Match[str]) -> str:
    return again.sub(MARK, line[0])


_MOST_VALUES = 100  # so that a text full of secrets costs time in proportion to its length
# Letters with a digit or a sign, more than one word, or letters alone: no address, path, id or number.
_NO_OTHER = re.compile(
    r"(?!\w+://|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-|[^\n]{0,200}\[redacted)(?=[^\n]{0,200}[^\W\d_])"
    r"(?:(?=[^\n]{0,200}[\d!#$%^&*+~?@])[^\s/]{6,200}|[^/\s][^/\n]{2,100}\s[^/\n]{3,100}"
    r"|(?!(?i:true|false|none|null)\Z)[^\W\d_]{5,40})"
)
_TRACED = re.compile(r"(?m)^[^\n+]{0,80}\+{1,6} [^\n]*")


def _short_name(text: str) -> str:
    """Return a text, and a hash in place of a long one."""
    if len(text) <= _LONGEST_REMEMBERED:
        return text
    return "\0" + hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()


def _join_for_search(lines: Sequence[str]) -> tuple[str, str, str, list[Name]]:
    """Return lines as one text, as it is searched, the same in lower case, and its names."""
    whole = "\n".join(lines)
    view = searchable(whole)
    lower = view.lower()
    return whole, view, lower, secret_names().found(view, lower)


def _marked_lines(lines: list[str], cuts: Sequence[Cut]) -> list[str]:
    kept, begin, at = [], 0, 0
    for line in lines:
        end = begin + len(line)
        while at < len(cuts) and cuts[at].end <= begin:
            at += 1
        inside = []
        for cut in itertools.islice(cuts, at, None):
            if cut.begin >= end:
                break
            first, last = max(cut.begin - begin, 0), min(cut.end - begin, len(line))
            first += len(line[first:last]) - len(line[first:last].lstrip())
            if first < last:
                inside.append(Cut(first, last, cut.mark))
        kept.append(apply_cuts(line, inside))
        begin = end + 1
    return kept


def searchable(text: str) -> str:
    """Return a text with blanks in place of colours and of other signs that show nothing, and without escapes."""
    if _is_plain(text) and "&" not in text and "%25" not in text and "#040" not in text:
        return text
    return _ESCAPED_SIGN.sub(_unescaped, _with_blanks(text))


def _with_blanks(text: str) -> str:
    """Return a text of the same length."""
    return text if _is_plain(text) else _UNSEEN.sub(_blank_for, text)


def _is_plain(text: str) -> bool:
    """Whether nothing in it is unseen, nor written as an escape that begins with a backslash."""
    return text.isascii() and "\\" not in text and (text.isprintable() or _ODD.search(text) is None)


def _escaped_signs(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each escape of a text begins, and by how much it is longer than what it says."""
    for escape in _ESCAPED_SIGN.finditer(_with_blanks(text)):
        yield escape.start(), len(escape[0]) - len(_unescaped(escape))


def _places_behind(escapes: Iterator[tuple[int, int]]) -> Callable[[int], int]:
    """Return what says where a place of a text without its escapes is in the text with them.

    Shape: of each escape, where it begins and by how much it is longer than what it says.
    """
    places, longer = list[int](), [0]  # of the escapes, and by how much the text is longer behind each

    def place(at: int) -> int:
        for begin, more in escapes:  # are read at the first call
            places.append(begin - longer[-1])
            longer.append(longer[-1] + more)
        return at + longer[bisect.bisect_left(places, at)]

    return place


def _unescaped(found: re.Match[str]) -> str:
    escape = found[0]
    if _WITHIN_WORD.match(escape) or not escape.strip("\\"):
        return ""
    if escape[0] == "\\":
        return chr(int(escape[2:], 16))
    if escape[0] == "#":
        return " "
    import html  # which is seldom needed

    return html.unescape(escape) if escape[0] == "&" else "%"


def _out_of_json(escape: re.Match[str]) -> str:
    return str(json.loads(f'"{escape[0]}"')).replace(r"\u0022", r"\"")  # a quote within the string's own strings


def _blank_for(found: re.Match[str]) -> str:
    text, (begin, end) = found.string, found.span()
    if (
        found["signs"]
        and _is_word_character(text[max(begin - 1, 0) : begin])
        and _is_word_character(text[end : end + 1])
    ):
        return found[0]
    return ("?" if "\ud800" <= found[0] <= "\udfff" else " ") * len(found[0])


def _is_word_character(sign: str) -> bool:
    return sign == "_" or sign.isalnum()


# As they are, or as `safe` writes them. Between words they are blanks; within one, of which they are no part, nothing.
_SIGNS = (
    rf"(?:(?:\x1b|\\x1b)\[[\d;]{{0,16}}[A-Za-z]|[{CONTROLS}{UNSEEN}]"
    r"|\\x(?:0[1-8bcdef]|1[\da-f]|7f|[89][\da-f]|ad)|\\u(?:034f|061c|115f|1160|17b[45]|180[b-f]|20[06][\da-f]"
    r"|202[89a-e]|3164|fe0[\da-f]|feff|ffa0|fff[\dab])|\\U000(?:1bca[0-3]|1d17[3-9a]|e0[\da-f]{3}))++"
)
# Other blanks than a space; and lone surrogates, which RE2 cannot read.
_UNSEEN = re.compile(rf"(?P<signs>{_SIGNS})|[\r\xa0\u2000-\u200a\u202f\u205f\u2800\u3000\ud800-\udfff]")
_WITHIN_WORD = re.compile(_SIGNS)
_ODD = re.compile(rf"[\r{CONTROLS}]")
# What stands around names and values, as JSON, markup, JavaScript, sudo and addresses within addresses may write it. A
# blank that is escaped is within a value. Quotes within quotes, however often, are read as those of the fourth.
_ESCAPED_SIGN = re.compile(
    r"\\(?:u00|x)(?:2[267fF]|3[aAc-eC-E]|40)|&(?:lt|gt|equals|#0{0,4}(?:6[0-2]|58)|#[xX]0{0,4}(?:2[27]|3[aAc-eC-E]));"
    rf"|%25(?=[0-9A-Fa-f]{{2}})|(?<=[\w'/.,-])#040(?=\S)|(?<!\\)\\{{1,60}}(?=\\{{3}}[\"']|/)|{_SIGNS}"
)
# What stands between quotes and has an escape, to the end where it was cut; and the escapes in it that are not read
# without it as well.
_JSON_STRING = re.compile(r'(?:(?<=[^\\]")|(?<=\A"))[^"\\\n]*+(?P<escapes>(?:\\[^\n][^"\\\n]*+)++)')
_JSON_BETWEEN = re.compile(r'\\(?:["ntrbf\\]|u(?!00(?:2[267fF]|3[aAc-eC-E]|40)))')
_JSON_WITHIN = re.compile(r'[{\[](?:\s|\\[nrt]){0,40}\\"')
_VARIABLE = re.compile(r'([\w.-]{1,100}+)=[^\s\\]+\\"')  # whose value goes on behind the quote, to the string's end
_JSON_ESCAPE = re.compile(r'\\(?:\\u0022|["\\/bfnrt]|u[0-9a-fA-F]{4})')
# The letters of a log from the rarest on: a text without the rarest of a literal does not hold the literal.
_RARE = "`^~<|{;$\\&*!?%@+#q'z\"(,j=/xkvwybg_hfmup-cld:nsroaite. "
_OPENS_LIST = re.compile(r"\s?[:=]\s?(?:\\{0,3}\"|map)?\[")
_BEGINNING = operator.itemgetter(slice(3))
_JSON, _MARKED = b"\1", b"\2"  # what a string in JSON was found to hold
_KNOWN, _TAKEN = b"\1", b"\2"  # known by its form, which a longer secret may hold; or by its place
_ROUNDS = 8  # a text with a secret needs two or three; more where many of one form stand side by side
_LONG, _LONG_BETWEEN_SIGNS = 24, 12  # characters of a word; of one in base64, which + and / divide
_WORD = b"abcdefghijklmnopqrstuvwxyz0123456789_-"
_TO_WORDS = bytes(code if code in _WORD else 0x20 for code in range(256))
_ESCAPED = re.compile(r"\\[nrt]|%[0-9a-f]{2}")


def _word_bytes(lower: str) -> list[bytes]:
    """Return the words of a text, also those after an escaped newline or a percent escape."""
    if "\\" in lower or "%" in lower:
        lower = _ESCAPED.sub(" ", lower)
    return lower.encode("utf-8", errors="replace").translate(_TO_WORDS).split()


def _decoded(digits: str, form: str) -> str:
    if form == "bytes":
        raw = bytes(code for number in digits.split(",") if (code := int(number)) < 256)
    else:
        raw = bytes.fromhex(digits[: len(digits) // 2 * 2])  # the last one may have been cut off
    return raw.decode("utf-8", errors="replace").replace("\0", " ")


def read_forms(document: Mapping[str, Any], parts: Mapping[str, str]) -> list[SecretForm]:
    """Return the rows of our own table."""
    return [
        SecretForm(
            name,
            tuple(row.get("has", ())),
            (*row.get("starts", ()), *_program_names(row.get("options", {}))),
            row.get("long", False),
            f"[redacted: {row['says']}]" if "says" in row else MARK,
            row.get("decode", ""),
            _form_of(row, parts),
            row.get("block", False),
            tuple(row.get("kinds", ())),
            expanded(row["before"] + r"\Z", parts) if "before" in row else "",
            row.get("lines", False),
        )
        for name, row in document.items()
    ]


_MACHINE_MADE, _COLUMNS, _SENTENCE, _COMMAND_LINE = "machine-made", "columns", "sentence", "command-line"
_OF_WHAT_IS_SHOWN: Mapping[str, Callable[[str, Sequence[Name]], Iterator[tuple[int, int]]]] = {
    _COMMAND_LINE: command_values,
    "environment": environment_values,
    _SENTENCE: password_words_after_names,
}


def _form_of(row: Mapping[str, Any], parts: Mapping[str, str]) -> str:
    if "rule" in row:
        return {rule: rule for rule in (_MACHINE_MADE, _COLUMNS, *_OF_WHAT_IS_SHOWN)}[row["rule"]]
    form = row.get("form") or row.get("after")
    parts = {**parts, "starts": "|".join(map(re.escape, row.get("starts", ())))}
    return expanded(_after_option(row["options"]) if form is None else form, parts)


def _program_names(options: Mapping[str, Sequence[str]]) -> Iterable[str]:
    return (re.split(r"[ *]", program)[0] for programs in options.values() for program in programs)


def _after_option(options: Mapping[str, Sequence[str]]) -> str:
    """Return the pattern of what follows an option on the command line of one of its programs."""
    lines = []
    for option, programs in options.items():
        names = map(re.escape, programs)
        said = "|".join(
            name.replace(r"\*", r"[\w-]{0,30}").replace(r"\ ", r"{gap}(?:[\w-]{1,16}{gap}){0,2}") for name in names
        )
        lines.append(rf"(?i:{said}){{words}}(?:{option})")
    return rf"{{begin}}(?:{'|'.join(lines)}){{near}}(?P<secret>{{not}}{{value}})"


@functools.cache
def _compiled(form: str) -> re.Pattern[str]:
    return re.compile(form)


def expanded(form: str, parts: Mapping[str, str]) -> str:
    """Return a pattern with its parts in place of their names."""
    while True:
        whole = _PART.sub(lambda found: parts[found[1]], form)
        if whole == form:
            return form
        form = whole


_PART = re.compile(r"\{([a-z]+)\}")


@functools.cache
def _builtin_forms() -> tuple[tuple[SecretForm, ...], Mapping[str, str]]:
    document = dict(secret_rows())
    parts = document.pop("parts")
    document.pop("names")
    document.pop("commands")
    return tuple(read_forms(document, parts)), parts


def may_speak_of_secret(name: str) -> bool:
    """True if the value under this name is one, or its text with the name may tell that it is."""
    return secret_names().in_part(name) or context().told.search(name) is not None


def _in_columns(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the values are of columns whose names speak of a secret."""
    for name, begin, end in column_values(text):
        if _is_secret_of_column(name, text[begin:end]):
            yield begin, end


def _in_blocks(text: str, names: Sequence[Name] | None) -> Iterator[tuple[tuple[int, int], bool]]:
    """Yield where the values are of blocks whose names speak of secrets, and whether they are secrets elsewhere too."""
    walked = defaultdict[tuple[bool, bool], Walked](functools.partial(Walked, text))
    for block, every, is_list in sorted(_ends_of_blocks(text, names)):
        for name, begin, end in walked[every, is_list].values(text, block):
            value = text[begin:end]
            # what a mapping says of a secret, or is one of several
            is_other = (is_list and (name or not every)) or (not every and name.lower() in words_of_blocks("either"))
            is_machine_s = _is_machine_s(value) and (every or context().called.fullmatch(value) is None)
            if is_machine_s if is_other else _is_secret_of_block(every or bool(name), value):
                yield (begin, end), every or is_machine_s


def _is_secret_of_column(name: str, value: str) -> bool:
    """True if a value may be the secret that its column's name speaks of."""
    if not 1 < len(value) <= _LONGEST_OF_COLUMN or context().column.match(value) is None:
        return False
    if name.lower() == "pass":
        return not _COUNT.fullmatch(value)
    return secret_names().kind(name) == PASSWORD or not _COUNT_OR_NAME.fullmatch(value)


def _ends_of_blocks(text: str, names: Sequence[Name] | None) -> Iterator[tuple[int, bool, bool]]:
    """Return where the names end of which a block may follow, whether all in it are passwords, or only a list's."""
    for name in secret_names().found(text, text.lower()) if names is None else names:
        if (word := _OF_BLOCKS.search(text[name.begin : name.end])) is not None:
            yield name.end, word["every"] is not None, False
        elif name.kind != OTHER or _MANY.search(text, name.begin, name.end) is not None:
            yield name.end, name.kind == PASSWORD, True
    for found in _NO_NAMES.finditer(text):
        yield found.end(), (is_data := found[0] == "stringData"), not is_data


_OF_BLOCKS = re.compile(r"(?i:(?P<every>(?:password|passwd|passphrase)s)|secrets?|credentials)\Z")
_MANY = re.compile(r"(?:eys|kens|rets|EYS|KENS|RETS)(?![a-z])")
_NO_NAMES = re.compile(r"(?<![\w.-] )\b(?:stringData|keys(?:_base64)?)\b")


def _is_secret_of_block(every: bool, value: str) -> bool:
    if not 3 < len(value) <= _LONGEST_OF_COLUMN or context().column.match(value) is None:
        return False
    is_word = context().word.match(value) is not None and _COUNT_OR_NAME.fullmatch(value) is None
    return every or is_word or _is_machine_s(value)


def _is_machine_s(value: str) -> bool:
    """True for a word of letters and digits as only a machine writes it, or one as a password may be."""
    return context().random.fullmatch(value) is not None


_LONGEST_OF_COLUMN = 400  # characters
_COUNT = re.compile(r"[\d.,%/-]*")
_COUNT_OR_NAME = re.compile(r"[\d.,%/-]{0,5}|(?=.{1,60}\Z)(?![^.]*\.[0-9a-z]{16}\Z)[a-z0-9]+(?:[-./][a-z0-9]+)+")


def opens(text: str) -> bool:
    """True if a secret of several lines may begin in this line."""
    if context().opens.search(text) is not None:
        return True
    if not secret_names().in_part(text):
        return False
    names = secret_names().found(text, text.lower())
    is_last = bool(names) and not text[names[-1].end :].strip(_SIGNS_OF_END)
    return is_last or is_head(text)


_SIGNS_OF_END = " \t\r\"'\\])}>=:,"


def own_names() -> frozenset[str]:
    """Return the names of our rows."""
    return frozenset(form.name for form in _builtin_forms()[0])


def own_marks() -> frozenset[str]:
    """Return all that stands in place of a secret."""
    return frozenset({MARK, KEY_MARK, *(form.mark for form in _builtin_forms()[0])})


FORMS_OF_SITES: SiteRows[SecretForm] = SiteRows()  # searched for after ours


@FORMS_OF_SITES.cached
def table() -> SecretTable:
    """Return the table: our rows, and those of sites.

    Raises: OSError or ValueError when our table cannot be read, so that no text is shown that was not searched.
    """
    forms, parts = _builtin_forms()
    return SecretTable([*forms, *FORMS_OF_SITES], parts)


def compile_forms() -> None:
    """Compile every pattern, which takes a quarter of a second: what is told first does not wait for it.

    Raises: OSError or ValueError, as `table`.
    """
    for form in table().forms:
        form.compile()
    context()


@dataclass(frozen=True, slots=True)
class Context:
    """What makes a neighbour a secret: a mapping's name, or the end of the text before it.

    Whether the value under a name with `told` is one, a text with both tells. After `next` the next text of a list is
    the secret: a bare flag, or YAML's | and >.
    After `named` a `value` in the next text is, also where texts that only go `on` are between. What `opens` finds is
    in the first line of a secret of several lines. What is in a `column` may be a secret, and a
    `word` is one that no sentence has, a `random` one only a machine's unless something is `called` so.
    """

    told: re.Pattern[str]
    next: re.Pattern[str]
    named: re.Pattern[str]
    on: re.Pattern[str]
    opens: re.Pattern[str]
    value: SecretForm
    column: re.Pattern[str]
    word: re.Pattern[str]
    random: re.Pattern[str]
    called: re.Pattern[str]


@functools.cache
def context() -> Context:
    """Return the patterns of neighbours."""
    _, parts = _builtin_forms()

    def compiled(form: str) -> re.Pattern[str]:
        return re.compile(expanded(form, parts), re.IGNORECASE)

    value = compiled(
        r"(?:\b(?:parameter)?(?:value|default){quote}\s{0,8}[:=]\s{0,8}|<(?:[\w-]{0,20}value|string)>)"
        r"(?P<secret>{not}(?:(?<=>)[^<\n]{1,2000}|{value}))"
    )
    return Context(
        compiled(
            r"cookie|session|\Aencrypt\Z|jit_?config|initial_management|agent_recovery|agent_master|_service_registration"
        ),
        compiled(
            r"(?:(?:\A|\s|[\"'])--?{plain}[\"']?,?(?: \\)?"
            r"|(?<![\w.-])(?P<mapped>[\w.-]{1,100}){quote}\s{0,8}:\s{0,8}[|>][+-]?"
            r"|Set the following 'random' passwords:?)\s{0,8}\Z"
        ),
        compiled(
            r"(?:\b(?:name|parameterkey){quote}\s{0,8}[:=]\s{0,8}{quote}{plain}\W{0,8}"
            r"|<(?:[\w-]{0,20}name|key)>(?P<tag>[\w.:-]{1,100})</[\w-]{1,24}>\s{0,8}"
            r"|(?<![\w.-])(?P<block>[\w.-]{1,100}){quote}\s{0,4}[:=]?\s{0,4}\{\s{0,8})\Z"
        ),
        compiled(
            r"\s{0,40}(?:{quote}(?:type|description|sensitive|nullable|ephemeral){quote}\s{0,8}[:=]|<(?:final|description)>|\Z)"
        ),
        compiled(
            r"\bkind{quote}\s{0,8}:\s{0,8}{quote}Secret\b|Private-Lines:|chpasswd:|\$ANSIBLE_VAULT|random' passwords"
            r"|\bstringData\b|\bget secrets?\b|\bjsonpath=|\+ (?:echo|printf)[ ]"
            r"|\b(?:chpasswd|kinit|cryptsetup|passwd|stdin)\b[^\n]{0,100}<<"
            r"|<<[^\n]{0,100}\b(?:chpasswd|kinit|cryptsetup|passwd|stdin)\b|\AUSER \S{1,60}\Z|\b334 UGFzc3dvcmQ6"
            r"|\btokens{quote}\s{0,8}(?:[:=]?\s{0,8}\{|:\s{0,8}\Z)"
            r"|(?:password|passphrase|passcode|token|secret|credential| key)[^\n]{0,160}[:.]\s{0,8}\Z"
        ),
        SecretForm("value", (), (), False, MARK, "", value),
        compiled(r"{not}(?!\\N\Z|[-*.x]+\Z|\(?redacted|(?:not null|default|\w{0,20}\(\))\Z)"),
        compiled(r"{word}"),
        re.compile(expanded(r"{uuid}|(?=[A-Za-z0-9+/=!#$%^&*@~]{8,400}\Z){random}", parts)),
        re.compile(parts["called"]),
    )
