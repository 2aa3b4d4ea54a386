"""What is shown of command lines, of environments and after the word for a password; all else there may be a secret.

Programs differ in their options, and people in their passwords, so no list of either is ever complete. Shown is what
says itself that it is none: a program, options, paths, addresses, numbers, the values of options and variables of
harmless names, a log's words. These stand in `playbooks/tables/secrets.toml` under [commands].
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bot.domain.secret_names import OTHER, PASSWORD, Name, secret_names, secret_rows


class _Word(NamedTuple):
    """A word of a command line, without its quotes."""

    begin: int
    end: int
    text: str

    def part(self, found: re.Match[str], group: str) -> _Word:
        """Return the part of it that a group has found in its text."""
        begin, end = found.span(group)
        return _Word(self.begin + begin, self.begin + end, found[group])


def command_values(text: str, _: Sequence[Name] = ()) -> Iterator[tuple[int, int]]:
    """Yield where in a text the words of command lines are that nothing says to be harmless."""
    last = 0
    for found in _commands_in_lines(text):
        if found.start() < last:
            continue
        if found["list"] is not None:
            last = _end_of_list(text, found.start("list"))
            words = [
                _Word(*word.span("word"), word["word"]) for word in _LISTED.finditer(text, found.start("list"), last)
            ]
            if len(words) > 1 and words[0].text == "-c":
                yield from _nested_secrets(words.pop(1))
            yield from _values(words, _UNKNOWN)
            continue
        is_whole = found["option"] is None
        begin = found.end() if is_whole else found.start("option")
        last = _end_of_line(text, begin)
        program = "" if is_whole else _program_before(text, begin)
        for words in _commands(text, begin, last):
            yield from _values(words, program, is_whole)
            program, is_whole = "", is_whole or bool(program)


def are_words_of_command(text: str) -> bool:
    """True for the words of a command line, one a line: an option is soon among them, or its program needs none."""
    if not _WORDS_ALONE.fullmatch(text):
        return False
    words = text.split("\n", _SOON)[:_SOON]
    return any(word.startswith("-") for word in words) or words[0].rpartition("/")[2] in _table().bare


def environment_values(text: str, _: Sequence[Name] = ()) -> Iterator[tuple[int, int]]:
    """Yield where in a text the values of variables are whose names do not say that they are harmless."""
    for found in _ENVIRONMENT.finditer(text):
        for pair in _VARIABLE.finditer(text, *found.span(found.lastgroup or "pairs")):
            group = next(name for name in ("inner", "double", "single", "bare") if pair[name] is not None)
            yield from _value_secrets(pair["name"], _Word(*pair.span(group), pair[group]))


def _commands_in_lines(text: str) -> Iterator[re.Match[str]]:
    """Yield where command lines begin, in the lines that may hold one: most of a log do not, and cost little."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = text
    places = [found.start() for found in _OPTION_LIKELY.finditer(text)]
    for sign in _SIGNS_OF_COMMANDS:
        at = lower.find(sign)
        while at >= 0:
            places.append(at)
            at = lower.find(sign, at + 1)
    end = -1
    for place in sorted(places):
        if place < end:
            continue
        begin = text.rfind("\n", 0, place) + 1
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        yield from _COMMAND.finditer(text, begin, end)


def _commands(text: str, begin: int, end: int) -> Iterator[list[_Word]]:
    """Yield the words of each command of a shell's line."""
    words = list[_Word]()
    for found in _SHELL_WORD.finditer(text, begin, end):
        if found["between"] is not None:
            continue
        if found["operator"] is not None:
            yield words
            words = []
            continue
        group = next((name for name in ("double", "single") if found[name] is not None), None)
        words.append(_Word(*found.span(group), found[group]) if group else _Word(*found.span(), found[0]))
    yield words


def _program_before(text: str, option: int) -> str:
    """Return what runs with an option, if it is a program whose words are no secrets.

    Shape: behind a quote it is the word before the option, and none that runs others, which have options of their own.
    """
    words = text[max(option - 80, 0) : option].split()[-5:]
    names = [word.strip(_AROUND_NAME).rpartition("/")[2].lower() for word in words]
    if words and (quoted := _BEFORE_NAME.sub("", words[-1]).strip(_AROUND_NAME).lower()) not in _table().runners:
        names.append(quoted)
    return next((name for name in names if name in _table().programs), "")


def _values(words: Sequence[_Word], program: str = "", is_whole: bool = False) -> Iterator[tuple[int, int]]:
    """Yield what may be a secret among a command's words; `is_whole` if the program is the first of them."""
    table = _table()
    option = ""  # whose value is next
    number = 0  # of the words that are neither options nor their values
    speaks: int | None = None  # the place of the first that speaks of users, once it is asked for
    for at, word in enumerate(words):
        text = word.text
        if pair := _PAIR.fullmatch(text):
            if is_whole or text[0].isupper():
                is_list = _SETTINGS.fullmatch(text) is not None
                yield from _value_secrets(pair["name"], word if is_list else word.part(pair, "value"))
            option = ""
        elif flag := _OPTION.match(text):
            option = flag["name"]
            if flag["value"] is not None:
                yield from _value_secrets(option, word.part(flag, "value"))
                option = ""
        elif flag := _LETTER.match(text):
            option = flag["name"] if not flag["glued"] else ""
            if flag["glued"] and flag["name"] in _OF_SECRETS and _is_strange(flag["glued"]):
                yield from _value_secrets("", word.part(flag, "glued"))
        elif is_whole and not program:
            if text not in _BEFORE_PROGRAM:
                program = text.rpartition("/")[2].lower().rstrip(":")
                if program in ("echo", "printf"):
                    yield from _printed_secrets(words[at + 1 :])
                    return
        elif option:
            if _PROSE.fullmatch(text) is not None:
                if not is_whole:
                    return
            elif option == "c" and " " in text:
                yield from _nested_secrets(word)
            elif program not in table.programs and (
                is_whole or (program and len(option) > 1) or _is_strange(text)  # else it may be a sentence
            ):
                yield from _value_secrets(option, word)
            option = ""
        elif not is_whole and text in table.programs:
            program = text
        elif is_whole and program not in table.programs:
            number += 1
            if _is_plain(text):
                continue
            if speaks is None and number > 2:
                speaks = _first_that_speaks(words)
            if _is_strange(text) or (speaks is not None and speaks < at):
                yield word.begin, word.end


def _nested_secrets(word: _Word) -> Iterator[tuple[int, int]]:
    """Yield what may be a secret in the commands that a word of another is."""
    for words in _commands(word.text, 0, len(word.text)):
        for begin, end in _values(words, is_whole=True):
            yield word.begin + begin, word.begin + end


def _first_that_speaks(words: Sequence[_Word]) -> int:
    return next((at for at, word in enumerate(words) if _OF_USERS.search(word.text)), len(words))


def _printed_secrets(words: Sequence[_Word]) -> Iterator[tuple[int, int]]:
    """Yield what is printed, which another command may read, unless it is a sentence."""
    said = [
        _Word(word.begin + part.start(), word.begin + part.end(), part[0])
        for word in words
        for part in re.finditer(r"\S+", word.text)
        if not word.text.startswith("-")
    ]
    if len(said) < 3 or any(_is_strange(word.text) for word in said):
        for word in said:
            if not _is_plain(word.text) and not word.text.endswith(("=", ":")) and _PROSE.fullmatch(word.text) is None:
                yield word.begin, word.end


def _value_secrets(name: str, word: _Word) -> Iterator[tuple[int, int]]:
    """Yield what may be a secret in the value of an option, a variable or a setting."""
    if quoted := _QUOTED.fullmatch(word.text):
        word = word.part(quoted, "value")
    if _is_plain(word.text) or "[redacted" in word.text:
        return
    if "=" in word.text and _SETTINGS.fullmatch(word.text):
        for part in _SETTING.finditer(word.text):
            yield from _value_secrets(part["name"], word.part(part, "value"))
    elif not is_harmless_name(name):
        yield word.begin, word.end
    elif (found := _OF_USER.match(word.text)) and not _is_plain(found["rest"]) and _last_word(name) in _USERS:
        yield word.part(found, "rest")[:2]


def password_words_after_names(text: str, names: Sequence[Name]) -> Iterator[tuple[int, int]]:
    """Yield where in a text the words are that follow the word for a password and are no log's words."""
    last = 0
    for name in names:
        if name.begin < last or name.kind == OTHER or not _is_said(text, name):
            continue
        end = _END_OF_SENTENCE.search(text, name.end, name.end + _LONGEST_SENTENCE)
        last = end.start() if end else min(len(text), name.end + _LONGEST_SENTENCE)
        is_english = text.isascii() and _ENGLISH.search(text, name.begin, name.end) is not None
        before, at, is_cut = "", name.end, False
        for found in _SAID.finditer(text, name.end, last):
            word, sign = found["word"], text[at : found.start("word")]
            if _ENDS.search(text, at, found.end() + 2):
                break
            if sign.endswith("/"):  # a path
                continue
            if sign.endswith("[") and word.startswith("redacted"):
                before, at, is_cut = "redacted", found.end(), False
                continue
            is_name = text[found.end() : found.end() + 2] == ": " and word not in _USERS
            if is_name and (word in _table().names or _ATTRIBUTE.fullmatch(word)):
                break
            if sign == " " and at == name.end and _ATTRIBUTE.match(text, name.begin) and _ATTRIBUTE.fullmatch(word):
                break
            is_named = _SURELY_NAMED.search(text, max(at - 20, 0), found.start("word")) is not None
            is_secret = not (is_named or _is_word(word, before)) and (
                (
                    name.kind == PASSWORD
                    and (is_cut or _is_marked(word, sign, before, text[found.end() :][:2], is_english))
                )
                or _is_random(word)
            )
            if is_secret:
                yield found.span("word")
            before, at, is_cut = word.lower(), found.end(), is_secret or (is_cut and word.lower() in _BETWEEN)


def _is_marked(word: str, sign: str, before: str, after: str, is_english: bool) -> bool:
    """True if a word that is no log's is one of letters and digits, or stands where a password does in a sentence."""
    if (sign != "'" and sign.rstrip()[-1:] in tuple(_OPENING)) or any(map(str.isdigit, word)):
        return True
    return is_english and (
        not (word.islower() and word.isalpha()) or before in _COPULAS or after.strip() in ("", ".", ";", "'", '"', ")")
    )


def _is_said(text: str, name: Name) -> bool:
    """True if a name is one in a sentence: not quoted, a part of a path or a call, or what the mark of a cut says."""
    return (
        text[name.begin : name.end].lower() not in ("pass", "passes", "pw", "passwd")
        and text[name.begin - 1 : name.begin] not in tuple("/.-?&%:")
        and not text[name.end - 1].isdigit()
        and text.rfind(" SRCH attr=", max(name.begin - _LONGEST_SENTENCE, 0), name.begin) < 0
        and text.rfind("[redacted: ", max(name.begin - 24, 0), name.begin) < 0
        and _BINARY.search(text, max(name.begin - 40, 0), name.end + 40) is None
        and _NO_SENTENCE.match(text, name.end) is None
    )


def _is_word(word: str, before: str) -> bool:
    """True if a word is one of a log's sentence, or one that is no secret by its form or its place."""
    if _is_plain(word) or _PROSE.fullmatch(word) or _SUFFIX.fullmatch(word.lower()) or _SAID_NAME.fullmatch(word):
        return True
    if _NAME_OF_SECRET.fullmatch(word) and secret_names().kind(word):
        return True
    return _BEFORE_NAMES.fullmatch(before) is not None and _IDENTIFIER.fullmatch(word) is not None


def _is_random(word: str) -> bool:
    """True if a word has digits and letters as no name has."""
    return len(word) >= 8 and "://" not in word and _HAS_DIGIT.search(word) is not None and _is_strange(word)


_AROUND_NAME = ":\"'(["
_BEFORE_NAME = re.compile(r".*/|.*[\"'](?=[^\"']+\Z)", re.DOTALL)  # behind a quote that is closed there is none
_UNKNOWN = "?"  # the program of options that stand in a list
_HAS_DIGIT = re.compile(r"[a-z]\d|\d[a-z]", re.IGNORECASE)
_OPENING = ":=：「『“«`\"'"
_ENGLISH = re.compile(r"(?i:pass(?!e\b)|pw|psk|secret|token|cred|key|jwt|otp|salt|auth|community|preshared)")
_COPULAS = frozenset({"", "is", "was", "are", "to", "as", "from", "now", "be", "lautet", "ist", "est", "es"})
_BETWEEN = frozenset({"and", "or", "of", "the", "in", "a", "for"})
_OF, _PLACE = r"(?:for|by|of|on|at|in)", r"(?:role|node|pod|workload|identity|named)"
_OWNER = (
    r"(?:user|host|account|service|database|benutzer|utilisateur|usuario|utente|gebruiker|użytkownika|пользователя)"
)
_BEFORE_NAMES = re.compile(rf"{_OF}|{_PLACE}|{_OWNER}|from|to")
# A name of any form: for web12x, for user web12x, for user "web12x". But what an owner is said of may be the password:
# for user: …, for admin user "…".
_SURELY_NAMED = re.compile(
    rf"(?i:(?<![\w-])(?:(?:{_OF}|{_OWNER}) |{_PLACE}\W{{1,4}}|{_OF} (?:{_OWNER} )?\\{{0,3}}[\"'`])\Z)"
)
_LONGEST_SENTENCE = 160  # characters
_END_OF_SENTENCE = re.compile(
    r"\\x00|\n|\\n|\\{0,3}\"\s{0,4}[,}\]:;]|[{<]"
    r"|\d\d:\d\d:\d\d|\d{4}-\d\d-\d\d|\d/\w{2,3}/\d{4}|[\w-]{1,40}\[\d{1,7}\]: |HTTP/"
)
_SAID = re.compile(r"(?:[\W_](?<![-+]))*(?P<word>(?:--?)?[^\s\"'`“”„«»「」『』（）：，。；<>|\[\]]*[^\W_])")
_ENDS = re.compile(r"\s--?[A-Za-z]|\s/[A-Za-z]{1,2}\s|[\w.({-]=|\|\s")
_NO_SENTENCE = re.compile(
    r"\s{0,4}(?:==?|:=)|:\s{0,2}[\"']|%|\\{0,3}[\"']|\(\)|\.[a-z]|[/@]|\w|-\w|::|[\])]|>[,.:;()\[\]]"
)
_BINARY = re.compile(r"\\x[89a-f][0-9a-f]|%[2-7][0-9A-F][^%\n]{0,20}%[2-7][0-9A-F]")
_ATTRIBUTE = re.compile(r"[a-z]+(?:[A-Z][a-z]+)+")  # of a program or a directory: userPassword uidNumber maxPool: 5
_SUFFIX = re.compile(
    r"[a-z]{2,20}(?:ed|ing|able|ible|ful|less|ary|ent|ant|ous|ive|ory|ally|tion|tions|sion|ment|ness|ity|ance|ence)"
)
_NAME_OF_SECRET = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)+")
_SAID_NAME = re.compile(r"[A-Z]{2,24}(?:_[A-Z]{2,24}){1,6}|--?[a-z]+(?:-[a-z]+)*")  # of a variable, of an option
_PARTS = re.compile(r"[-_./:,+*@()]+")


def is_harmless_name(name: str) -> bool:
    """True if the name of an option or variable says that its value is no secret."""
    return (
        name in _table().letters
        if len(name) == 1
        else (
            (last := _last_word(name)) in _table().names
            or last.removesuffix("s") in _table().names
            or (last != name.lower() and not secret_names().kind(name) and bool(secret_names().kind(f"a-{last}")))
        )
    )


@functools.lru_cache(maxsize=4096)
def _last_word(name: str) -> str:
    words = _NAME_WORDS.findall(name)
    return words[-1].lower() if words else ""


_WORDS_ALONE = re.compile(r"\S+(?:\n\S+)+\n?")
_SOON = 41


class _Table(NamedTuple):
    names: frozenset[str]
    letters: frozenset[str]
    values: frozenset[str]
    programs: frozenset[str]
    runners: frozenset[str]
    words: frozenset[str]
    bare: frozenset[str]


@functools.cache
def _table() -> _Table:
    rows: Mapping[str, Any] = secret_rows()["commands"]
    return _Table(*(frozenset(rows[column].split()) for column in _Table._fields))


def end_of_string(text: str, at: int) -> int | None:
    """Return where the string of JSON ends that a place is in, if it is in one."""
    begin = text.rfind('"', max(at - _LONGEST_STRING, 0), at)
    while begin > 0 and text[begin - 1] == "\\":
        begin = text.rfind('"', max(at - _LONGEST_STRING, 0), begin)
    is_one = begin > 0 and text[max(begin - 2, 0) : begin].rstrip()[-1:] in tuple(":[,")
    rest = _REST_OF_STRING.match(text, at, at + _LONGEST_STRING) if is_one else None
    return rest.end() if rest else None


_LONGEST_STRING = 4000  # characters before a place, and behind it
_REST_OF_STRING = re.compile(r'(?:[^"\\\n]|\\.)*+(?="\s{0,4}[,}\]])')


def _end_of_line(text: str, begin: int) -> int:
    """Return where a command line ends: with its line, which a \\ carries on, or with the quotes around it."""
    if (end_in_json := end_of_string(text, begin)) is not None:
        return end_in_json
    quote = _OPEN_QUOTE.search(text, max(begin - 40, 0), begin)
    end = begin - 1
    while True:
        end = text.find("\n", end + 1)
        if end < 0:
            end = len(text)
        elif text[end - 1] == "\\":
            continue
        break
    if quote is not None and (closed := text.find(quote[1], begin, end)) >= 0:
        return closed
    return end


def _end_of_list(text: str, begin: int) -> int:
    return _IN_LIST.match(text, begin).end()  # type: ignore[union-attr]  # it matches an empty text too


def _is_plain(value: str) -> bool:
    """True if a value is no secret by its form, or a log's word, or some of them."""
    value = _EXPANSION.sub("", value).strip().rstrip("\\\"',;:)}].!?=").lstrip("\"'([{")
    if len(value) < 2 or _BINARY.search(value) or _PLAIN.fullmatch(value) is not None:
        return True
    lower, table = value.lower(), _table()
    if lower in table.values or lower in table.words:
        return True
    parts = [part for part in _PARTS.split(lower) if part]
    return len(parts) > 1 and all(
        part in table.words or part in table.values or part[:-1] in table.words or (part.isdigit() and len(part) < 5)
        for part in parts
    )


def _is_strange(value: str) -> bool:
    return _IDENTIFIER.fullmatch(value) is None and not _is_plain(value)


# What a shell, a unit or printf puts another text in place of.
_EXPANSION = re.compile(
    r"\$\{[^{}]{0,80}\}|\$[#?*@$!0-9]|\$[A-Za-z_]{1,40}(?!\w)|%\{\w{1,30}\}|%[-+.\d]{0,6}[A-Za-z](?![A-Za-z0-9])|\\{1,2}(?:[nrt]|[0-7]{1,3})"
)
_NAME_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_USERS = frozenset({"user", "u", "username", "login", "admin"})
_BEFORE_PROGRAM = frozenset(
    {
        "sudo",
        "exec",
        "env",
        "nohup",
        "time",
        "timeout",
        "export",
        "command",
        "then",
        "do",
        "if",
        "while",
        "!",
        "set",
        "nice",
    }
    | {"ionice", "setsid", "[", "[[", "local", "declare", "eval", "{"}
)
_OF_SECRETS = frozenset("pPwWaAkKxXsSyYU")  # one or another program's option for a secret
_OF_USERS = re.compile(
    r"(?i)pass|user|login|auth|cred|secret|token|connect|join|attach|regist|enrol|activat|account|identif|unlock|crypt|\A-u"
)
_OPEN_QUOTE = re.compile(r"(\\{0,3}[\"'`])[^\s\"'`]{0,30}\s?\Z")
# --name, --name=value, -name=value, -Dname=value, -XX:+name, /name:value
_OPTION = re.compile(
    r"(?:--|-XX:[+-]?|-D(?=[\w.-]{1,80}=)|-(?=[A-Za-z][\w.-]{2,80}(?:=|\Z))|/(?=[A-Za-z]{1,16}:(?!/)))"
    r"(?P<name>[A-Za-z][\w.-]{0,80})"
    r"(?:(?:=|(?<=.):)(?P<value>[\s\S]+))?\Z"
)
_LETTER = re.compile(r"-(?P<name>[A-Za-z])(?P<glued>[\s\S]*)\Z|-")
_PAIR = re.compile(r"(?P<name>[A-Za-z_][\w.-]{0,80})\+?=(?P<value>[^=][\s\S]*)")
_SETTING = re.compile(r"(?:\A|(?<=[,;&]))(?P<name>[\w./-]{1,60})=(?P<value>[^,;&]*)")
_SETTINGS = re.compile(
    r"[\w./-]{1,60}=[^,;&=]*(?:[,;&](?:[\w./-]{1,60}=[^,;&]*|[\w.-]{0,60}))*|[\w.-]{1,60}(?:,[\w./-]{1,60}=[^,;&]*)+"
)
_QUOTED = re.compile(r"(?P<quote>\\{0,3}[\"'])(?P<value>.*?)(?:(?P=quote))?", re.DOTALL)
_OF_USER = re.compile(r"[^:%]{1,60}[:%](?P<rest>.+)", re.DOTALL)
_PROSE = re.compile(
    r"(?i:is|are|was|were|be|must|has|have|can|cannot|could|may|might|should|will|would|does|did|and|or|not|nor|but|for"
    r"|with|without|to|in|on|at|by|via|from|as|of|if|when|because|instead|than|that|this|the|an?|flags?|options?"
    r"|arguments?|parameter|switch|requires|needs|only|also|then|so|it|which|will|use|used|using|set)[,.;:)]?"
)
# A word, or some with signs between, a number at the end of each: no capital or digit within.
_SINGLE = r"(?>[A-Z]{1,24}(?![a-z])|[a-z]{0,24}(?:[A-Z][a-z]{1,20}){0,5})\d{0,4}"
_IDENTIFIER = re.compile(rf"[(\[{{]?{_SINGLE}(?:[-_.:@/,+]{{1,2}}{_SINGLE}){{0,12}}[)\]}},:;.]?")
_NUMBER = (
    r"[+-]?(?:\d{1,15}(?:\.\d{1,9})?|0x[0-9a-fA-F]{1,16})(?:[kKmMgGtTpP]?i?[bB]?(?:ps)?|%|[a-z]{1,3}"
    r"|(?:day|hour|minute|second|week)s?)?"
)
_ENDING = (
    r"(?:jar|war|py|sh|pl|rb|js|ts|go|rs|c|h|conf|cfg|cnf|ya?ml|json|toml|ini|env|log|txt|md|csv|xml|pdf|docx?|png|jpe?g"
    r"|properties|html?|pem|crt|cer|key|pub|p12|pfx|jks|csr|sock|pid|lock|service|socket|timer|mount|target|scope|slice|device|path|so"
    r"|ko|bin|img|iso|qcow2|vmdk|raw|gz|tgz|tar|zip|7z|xz|zst|bz2|rpm|deb|sql|db|sqlite|dump|bak|out|err|tmp|mp4|dat[a]?)"
)
_DOMAIN = (
    r"(?:com|net|org|io|dev|local|localdomain|internal|lan|corp|example|svc|cloud|app|edu|gov|info|test|home|[a-z]{2})"
)
_PLAIN = re.compile(
    rf"(?:(?:\d:)?\d{{1,4}}(?:\.\d{{1,5}}){{1,4}}[\w.+~-]{{0,30}}"
    rf"|{_NUMBER}(?:[:,x/-]{_NUMBER}){{0,16}}|(?:\d{{1,4}}(?:ms|us|ns|s|m|h|d|w)){{1,4}}"
    # a path, also relative or of another kind: file://, repository/image:tag@sha256:…
    r"|[<>&\d]{0,3}(?:(?:file|unix):(?:/{2})?)?(?:~|\.{1,2})?(?:/[\w.@%+,:=~*{}$-]{0,80}){1,30}"
    r"|[a-z0-9_][\w.-]{0,40}(?:/[a-z0-9_*.][\w.@+:*-]{0,80}){1,12}"
    rf"|[\w.@%+~*-]{{1,80}}\.{_ENDING}(?:\.\d|:\d{{1,6}})?"
    # an address, a host with its port
    r"|[a-z][a-z0-9+.-]{1,12}://[\w.-]{0,120}(?::\d{1,5})?(?:/[\w.%+,:=~*-]{0,80}){0,20}"
    rf"|(?:[a-z0-9-]{{1,63}}\.){{1,6}}{_DOMAIN}(?::\d{{1,5}})?|(?:localhost|:|[a-z][a-z0-9-]{{0,40}}:)(?::?\d{{1,5}})?"
    r"|\[?[0-9a-f:]{0,39}(?::[0-9a-f.]{0,15})\]?(?:[/:]\d{1,5})?|\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2}|:\d{1,5})?"
    # an id, a digest, a class, a function, a variable, signs alone
    r"|%-?\d{0,3}[a-z]|\d{0,2}[<>][(&]?.*|arn:[\w:/.*-]{1,200}|[\w.$]{1,80}@[0-9a-f]{5,8}|error:[0-9A-F]{8}:\w+"
    r"|[\w.+-]{1,60}@(?:[\w-]{1,40}\.){1,4}[a-z]{2,6}"
    r"|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|(?:sha\d{3}|md5):[0-9a-f]{8,128}"
    r"|(?:[a-z][\w]{0,30}\.){1,8}[A-Z]\w{1,60}(?:\.\w{1,60})?(?:\([\w.]{1,60}:\d{1,6}\)?)?|\w{1,40}::\w{1,60}|\$\{?\w{1,40}\}?|\$\(.*|`.*|[\W_]+|\d{0,2}>{1,2}&?\S*"
    r"|(?:cn|ou|dc|uid|o|c)=[^=,]{1,40}(?:,(?:cn|ou|dc|uid|o|c)=[^=,]{1,40}){0,12}|\[redacted[^\]]{0,40}\])",
)
_LISTED = re.compile(  # an option's end may have been cut off
    r"\\{0,3}[\"'](?P<word>(?P<option>-)?(?:[^\"'\\\n]|\\(?![\"']).)*)(?:\\{0,3}[\"']|(?(option)\Z|(?!)))"
)
_IN_LIST = re.compile(r"(?:[^\[\]]|\[(?:redacted(?:: [\w -]{1,40})?\])?)*+")
_SHELL_WORD = re.compile(
    r"(?P<between>\\x00|\\\n)|(?P<operator>\|{1,2}|&&|;{1,2}(?=\s|\Z)|(?<=\s)&(?=\s|\Z)|\$\()"
    r"|\\{0,3}\"(?P<double>(?:[^\"\\]|\\(?!\").)*)\\{0,3}\"(?=[\s;|&),\]}]|\Z)"
    r"|'(?P<single>[^'\n]*)'(?=[\s;|&),\]}]|\Z)"
    r"|(?:[^\s\"'|;&()\\]|\\(?!x00)[^\n]|\"(?:[^\"\\\n;]|\\.|;(?! ))*\"|'[^'\n]*'|;(?!\s)|&(?![&\s])|[()\"'])+"
)
_OPTION_LIKELY = re.compile(r"[ (\[\"']--?[A-Za-z]")
_SIGNS_OF_COMMANDS = (
    *("cmd", "argv", "command=", "command:", "command line", "commandline", "executing", "running: /"),
    *("exec:", "exec=", "execst", "execre", "execcond", "sh -", "env "),
    *("+ ", "$ ", "# ", " pts/", " tty", "?  ", "? 0"),
)
_COMMAND = re.compile(
    r"(?m)(?:(?:\b(?:COMMAND|CMD|cmdline|argv\[\]|Exec(?:Start|Stop|Reload|Condition)\w{0,4})=[@!+:-]{0,3}|\bCMD \("
    r"|\b(?:[Cc]ommand(?: line)?|[Ee]xecuting|[Rr]unning|cmd|exec)[:=] ?(?=/)"
    r"|(?:^|(?<=[\]\w]: ))[ \t]{0,8}(?:\+{1,5} |[\w.@~:/\[\]-]{0,60}\$ )(?=[\w./'\[])"
    r"|(?:^|(?<=[:\]] ))\[?[\w.-]{1,30}@[\w.-]{1,40}[ :][^\s#]{0,60}[#$] "
    r"|(?<=\s)(?:\?|pts/\d{1,4}|tty\w{0,4}) [^\n]{0,30}?\b\d{1,4}:\d\d(?::\d\d)? (?=[\w./\[])"
    r"|\b(?:ba|da|z|k|a)?sh -[a-z]{0,4}c |(?<![\w.-])env (?=[A-Za-z_]\w{0,40}=))"
    r"|(?<=[\s(\[])(?P<option>--[A-Za-z][\w.-]{1,80}(?:=|[ \t]{1,4}(?=[^\s-]))"
    r"|-[A-Za-z](?:[ \t]{1,4}(?=[^\s-])|(?=[^\s-]{4})))"
    r"|(?P<list>(?<=[\s\[,{])\\{0,3}[\"']--?[A-Za-z][\w.-]{0,80}(?=[\"'=\\])))"
)
_ENVIRONMENT = re.compile(
    r"\bEnvironment=(?P<pairs>[^\n]{1,4000})|\b[Ee]nv\\{0,3}\"?:\s{0,4}\[(?P<listed>[^\]]{1,8000})"
)
_VARIABLE = re.compile(
    r"(?P<name>[A-Za-z_]\w{0,80})=(?:\"(?P<inner>[^\"]*)\"|'(?P<single>[^']*)'|(?P<double>(?<=\")[^\"]*)|(?P<bare>[^\s\"'\\]+))"
)
