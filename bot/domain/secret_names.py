"""What a secret is called, and what only a machine writes: the general rules of the table of secrets.

A value is a secret because of the words in its name, whatever its form, or because no person would write it. The words
stand in `playbooks/tables/secrets.toml` under [names].
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bot.domain.builtin_playbooks import builtin_rows

PASSWORD, KEY, OTHER = "password", "key", "other"  # from what is surely a secret to what may be one


class Name(NamedTuple):
    """A name in a text that speaks of a secret, and how."""

    begin: int
    end: int
    kind: str


class Names:
    """The words of names, and what a name of several words speaks of."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        self._kinds = {word: kind for kind in (OTHER, KEY, PASSWORD) for word in words[kind]}
        self._endings = tuple((word, self._kinds.get(word, PASSWORD)) for word in words["endings"])
        self._keys = frozenset(words["keys"])
        self._about, self._harmless = frozenset(words["about"]), frozenset(words["harmless"])
        self._no_secrets = tuple(self._harmless)
        self._before = {word: frozenset(before) for word, before in words["before"].items()}
        self._stems = tuple(stem for stem in words["stems"] if stem.isascii())
        self._every_stem = tuple(words["stems"])

    def kind(self, name: str) -> str:
        """Return what a name speaks of, or nothing: {dbPassword: password, api-key: key, password_file: ""}."""
        return self._kind(name) if len(name) <= _LONGEST else ""

    def in_part(self, name: str) -> bool:
        """True if a name holds a word that may speak of a secret, whatever stands behind it."""
        lower = name.lower()
        return any(stem in lower for stem in self._stems_of(lower))

    def _kind(self, name: str) -> str:
        if name.lower() in self._harmless or _looks_random(name):
            return ""
        words = [
            word.lower() for word in _WORDS.findall(name if name.isascii() or not name.isupper() else name.lower())
        ]
        for at in range(len(words) - 1, -1, -1):
            before = words[at - 1] if at else ""
            if kind := self._kind_of_word(words[at], before):
                after = [*words[at + 1 :]]
                if after == ["id"] and before == "root":
                    return kind
                return "" if self._about.intersection(after) else kind
        return ""

    def _kind_of_word(self, word: str, before: str) -> str:
        single = word if word in self._kinds or word.endswith("ss") else word.removesuffix("s")
        if single.endswith(self._no_secrets) or before in self._before.get(single, ()):
            return ""
        kind = self._kinds.get(single, "")
        if single == "key":
            kind = KEY if before in self._keys else OTHER if before else ""
        elif (single == "salt" and before in _SALTED) or (
            not kind and single.endswith("key") and single[:-3] in self._keys
        ):
            kind = KEY
        elif not kind:
            weak = KEY if single.endswith("pw", 2) else ""  # behind two letters: ipw2200 is a driver
            kind = next((kind for ending, kind in self._endings if single.endswith(ending)), weak)
        return OTHER if kind == KEY and word in _COUNTED else kind

    def _stems_of(self, text: str) -> tuple[str, ...]:
        return self._stems if text.isascii() else self._every_stem

    def found(self, text: str, lower: str) -> list[Name]:
        """Return the names in a text that speak of a secret; `lower` is the text in lower case."""
        stems = [stem for stem in self._stems_of(lower) if stem in lower]
        if not stems:
            return []
        if len(lower) != len(text):
            lower = _ascii_lower(text)
        names, end = [], 0
        for at in sorted(at for stem in stems for at in _occurrences(stem, lower)):
            if at < end:
                continue
            before = text[max(at - _LONGEST, end) : at]
            begin = at - len(before) + len(before.rstrip(_OF_NAMES))
            before = text[begin:at]
            if before and text[begin - 1 : begin] == "\\" and (escape := _ESCAPE.match(before)):
                before = before[escape.end() :]
            begin = at - len(before.rpartition("--")[2].lstrip("-."))
            end = _END.match(text, at).end()  # type: ignore[union-attr]  # it matches an empty text too
            if (
                begin == at
                and lower.startswith("key", at)
                and (word := _WORD_BEFORE.search(lower, max(at - 20, 0), at))
            ):
                begin -= len(word[0]) if word[1] in self._keys else 0
            if begin < at and text.startswith("-D", begin - 1) and text.startswith("=", end):
                begin += 1  # a property of Java's
            if (kind := self.kind(text[begin:end])) and not (
                _is_image_name(text, begin, end) or _OF_KUBERNETES.match(text, begin)
            ):
                names.append(Name(begin, end, kind))
        return names


_COUNTED = frozenset({"keys", "tokens", "secrets"})  # more often than shown
_SALTED = frozenset({"hash", "auth", "password", "encryption", "secret", "crypt"})


@functools.cache
def secret_rows() -> Mapping[str, Any]:
    """Return the program's own table of secrets."""
    return builtin_rows("secrets")


@functools.cache
def secret_names() -> Names:
    """Return the names of the program's own table."""
    return Names(secret_rows()["names"])


def speaks_of_secret(name: str) -> bool:
    """True if the value under this name is a secret, whatever it is."""
    return secret_names().kind(name) in (PASSWORD, KEY) and name.rpartition("/")[0] != "checksum"


def _occurrences(word: str, text: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _is_image_name(text: str, begin: int, end: int) -> bool:
    """True for the name of a container's image, whose tag follows: registry.example/acme/token:4f1c2d3."""
    return (
        text[end : end + 1] == ":"
        and _TAG.match(text, end) is not None
        and _REGISTRY.search(text, max(begin - _LONGEST, 0), begin) is not None
    )


# What Kubernetes says of a Secret by its name; but a client secret "…" is one, and an invalid secret may be.
_OF_KUBERNETES = re.compile(
    r"(?<!\w )(?P<kind>S)?(?(kind)|s)ecrets? \\{0,3}\"[a-z0-9][a-z0-9.-]{0,252}\\{0,3}\""
    r" (?:not found|already exists|is forbidden|(?(kind)is invalid|(?!)))"
)
_REGISTRY = re.compile(
    r"(?:(?<![\w./@-])(?:[\w-]{1,40}\.[\w.-]{1,60}(?::\d{1,5})?|[\w-]{1,60}/[\w.-]{1,60})/(?:[\w.-]{1,60}/){0,5}"
    r"|(?i:\bimage)(?:[\"']?[:=])? ?[\"']?(?:[\w.-]{1,60}/){0,5})\Z"
)
_TAG = re.compile(
    r":(?=[a-z]{0,12}-?[a-z]{0,8}\d)(?:[a-z]{1,12}-)?"
    r"(?:[0-9a-f]{7,40}|v?\d{1,8}(?:[.-][0-9a-z]{1,12}){0,6})(?![\w.+/:@-])"
)


def _ascii_lower(text: str) -> str:
    return text.translate(_LOWER)


_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_OF_NAMES = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+")
_ESCAPE = re.compile(r"x[0-9a-f]{2}|u[0-9a-f]{4}|[0nrt](?=[\w-]|\Z)")
_END = re.compile(r"\w{0,80}(?:(?<=[pP]arola) d['’]\w{2,12}|(?:[.-]{1,2}(?=\w)(?<!->)\w{1,80}){0,8})")
_WORD_BEFORE = re.compile(r"(?<![\w.-])([a-z]{2,16})[ ]\Z")  # of what is a name with a blank in it: api key
_LONGEST = 100  # characters of a name


def _looks_random(name: str) -> bool:
    letters = _NO_SIGN.sub("", name)
    return len(letters) >= 12 and len(letters) < 3 * len(_NAME_RUNS.findall(letters))


_NAME_RUNS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")


def machine_made(text: str) -> list[tuple[int, int]]:
    """Return where in a text only a machine can have written: long, of mixed letters and digits, and no words in it.

    Not where its place says what it is: a fingerprint, a path, an address, the id of something.
    """
    found = [
        found.span()
        for found in _LONG_WORD.finditer(text)
        if _is_random(found[0]) and not _SAYS_WHAT.search(text, max(found.start() - _PLACE, 0), found.start())
    ]
    public = [found.span() for found in _PUBLIC.finditer(text)] if found else []
    return [span for span in found if not any(begin <= span[0] < end for begin, end in public)]


def _is_random(word: str) -> bool:
    if _SHAPED.match(word):
        return False
    plain = _NO_SIGN.sub("", word)
    longest = max(_SEGMENTS.split(word), key=len)
    if len(plain) < _FEWEST or len(_RUNS.findall(plain)) < _MIXED * len(plain):
        return False
    if plain.islower():
        longest = max(_NO_SIGN.split(word), key=len)
        is_mixed = len(_DIGITS.findall(longest)) >= 4 and _NO_HEX.search(longest) and not _LETTERS.search(longest)
        return len(longest) >= _FEWEST_SMALL and bool(is_mixed)
    if (
        len(_SMALL.findall(longest)) < 2
        or len(_CAPITALS.findall(longest)) < 2
        or len(_DIGITS.findall(plain)) < 2 - (len(plain) >= _SURELY)
    ):
        return False
    return len(longest) >= _FEWEST_TOGETHER and sum(map(len, _WORDISH.findall(word))) <= (
        0.34 if len(plain) < _SURELY else 0.5
    ) * len(plain)


_SURELY = 32  # characters: so many fall into no words by chance
_FEWEST, _FEWEST_TOGETHER, _FEWEST_SMALL, _MIXED, _PLACE = 20, 12, 24, 0.4, 60
_PUBLIC = re.compile(r"-----BEGIN (?:CERTIFICATE|PUBLIC KEY)-----[A-Za-z0-9+/=\s]{0,20000}")
_SEGMENTS = re.compile(r"[-_.]+")
_LONG_WORD = re.compile(r"(?<![\w+/.~%@-])[A-Za-z0-9_+][\w+/~.-]{19,}+={0,2}(?![\w(@+])")
_NO_SIGN, _SMALL, _CAPITALS = re.compile(r"[^A-Za-z0-9]+"), re.compile("[a-z]"), re.compile("[A-Z]")
_DIGITS, _NO_HEX, _LETTERS = re.compile("[0-9]"), re.compile("[g-z]"), re.compile("[a-z]{7}")
_RUNS = re.compile(r"[a-z]+|[A-Z]+|\d+")
_WORDISH = re.compile(r"[A-Z]?[a-z]{4,}|[A-Z]{5,}|\d{6,}")
# Hexadecimal with a name in front, a function of NVIDIA's for one chip, LVM's ids, a task of Docker Swarm, public keys
# and certificates, addresses of wallets, symbols, packages.
_SHAPED = re.compile(
    r"(?:[A-Za-z]{1,12}[_-])?[0-9a-fA-F]+(?:[-_.:][0-9a-fA-F]+)*\Z|_?[a-z][A-Za-z]+_[A-Z]{2}\d{3}\Z"
    r"|\w{6}(?:-\w{4}){5}-\w{6}\Z|[\w.-]+\.(?:\d{1,4}|[a-z0-9]{25})\.[a-z0-9]{25}\Z|0x|AAAA[A-Z]|_[ZR][A-Z]?|MII"
    r"|.*(?:[+/]0x|\.(?:x86_64|noarch|aarch64|el\d|fc\d+|so|service|mount|slice|scope|rpm|deb|pem|crt|cer)\b)"
)
# What the word before it says that it is: sha256:, "parent-hash" ", UUID=, PV, peer:
_SAYS_WHAT = re.compile(
    r"(?i:(?<![a-z])(?:sha-?\d{0,3}(?:-\d{3})?|md5|[\w-]{0,20}(?:hash|id|uuid|guid)|digest|checksum|sum|etag"
    r"|fingerprint|nonce|serial|pv|lv|vg|lvm|peers?|pub(?:lic)?[ _]?key|account-key|sign-key-sha3-384|integrity|request"
    r"|trace|span|version|wallet|callid|revision|commit|image|layer|variable|build|model|name|host|node|volume"
    r"|realm|chain|cert\w{0,10})"
    r"[\"']?\s{0,3}(?:[=: -]|\\x2d|\\)\s{0,3}[\"'\[(]?|DNSKEY \d{1,5} \d \d{1,3} |LVM\\)\Z"
)
