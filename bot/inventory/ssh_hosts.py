"""The host names in an OpenSSH client configuration (ssh_config(5): Host, Match, Include).

Only names are read here. The SSH library reads the same file for the settings of a `Host` block (HostName, ProxyJump,
IdentityFile, …).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from bot.domain.errors import InventoryError
from bot.domain.node import Node, is_name
from bot.domain.problems import Problems, read_file
from bot.inventory.inventory_file import InventoryFile
from bot.inventory.kind import InventoryKind, TableNodes

_LIMIT_BYTES = 1024 * 1024
_MOST_FILES = 500
_DEEPEST_INCLUDE = 16  # as in OpenSSH
_WILD = re.compile(r"[*?]")
_LITERAL = re.compile(r"[A-Za-z0-9]")


@dataclass(frozen=True, slots=True)
class _Block:
    """The patterns of a `Host` line, and those of the `Host` blocks whose Include led here."""

    patterns: tuple[str, ...]
    within: tuple[tuple[str, ...], ...] = ()

    def matches(self, name: str) -> bool:
        return all(_matches(patterns, name) for patterns in (self.patterns, *self.within))


@dataclass(frozen=True, slots=True)
class SshHosts:
    """The host names that the configuration gives.

    Shape: `Host *` names no host, it only sets defaults; a pattern names hosts if it has a letter or digit, like
    `gpu-*`.
    """

    blocks: tuple[_Block, ...]

    @classmethod
    def read(cls, path: Path, home: Path | None) -> SshHosts:
        """Read the file and all files that it includes.

        Raises: InventoryError, with file and line, when a file cannot be read or understood.
        """
        return cls(tuple(_Reader(home).blocks(path, (), 0)))

    @property
    def names(self) -> tuple[str, ...]:
        """The hosts named in full, in the file's order."""
        literal = ((block, word) for block in self.blocks for word in block.patterns if is_name(word))
        return tuple(dict.fromkeys(word for block, word in literal if block.matches(word)))

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns that name hosts, for people to read."""
        words = (word for block in self.blocks for word in block.patterns if _names_hosts(word) and _WILD.search(word))
        return tuple(dict.fromkeys(words))

    def allows(self, name: str) -> bool:
        """True when some `Host` line names this host, in full or by a pattern."""
        return any(
            block.matches(name) and any(_names_hosts(word) and _matches((word,), name) for word in block.patterns)
            for block in self.blocks
        )


def _names_hosts(pattern: str) -> bool:
    return not pattern.startswith("!") and _LITERAL.search(pattern) is not None


def _matches(patterns: tuple[str, ...], name: str) -> bool:
    """A pattern must match, and no negated pattern may: the rule of ssh_config(5)."""
    if any(word.startswith("!") and _fits_glob(word[1:], name) for word in patterns):
        return False
    return any(not word.startswith("!") and _fits_glob(word, name) for word in patterns)


def _fits_glob(pattern: str, name: str) -> bool:
    """Whether the name fits a pattern of `*` and `?`, which has no other wildcards."""
    return fnmatchcase(name, pattern.replace("[", "[[]"))


def load(file: InventoryFile) -> TableNodes:
    """Return the hosts of the configuration that `[ssh] config` names; empty without that key.

    Raises: InventoryError, with file and line, when the configuration cannot be read or understood.
    """
    shared = file.defaults
    if shared.ssh_config is None:
        return TableNodes()
    file.problems.raise_if_any()  # read the other file only if this has no faults
    hosts = SshHosts.read(shared.ssh_config, file.home)

    def node(name: str) -> Node:
        return replace(shared, name=name, address=name)

    return TableNodes(
        tuple(map(node, hosts.names)), hosts.patterns, lambda name: node(name) if hosts.allows(name) else None
    )


class _Reader:
    """Follows a configuration through its Includes."""

    def __init__(self, home: Path | None) -> None:
        self._home = home
        self._files = 0

    def blocks(self, path: Path, within: tuple[tuple[str, ...], ...], depth: int) -> Iterator[_Block]:
        problems = Problems(str(path), InventoryError)
        self._files += 1
        if depth > _DEEPEST_INCLUDE or self._files > _MOST_FILES:
            problems.fail(0, "too many Includes; does one include itself?")
        text = read_file(path, "the configuration", _LIMIT_BYTES, problems)
        here: tuple[tuple[str, ...], ...] | None = within  # None: inside a Match, whose Includes name no hosts
        for number, line in enumerate(text.splitlines(), 1):
            keyword, words = _keyword_and_arguments(line, number, problems)
            if keyword == "host":
                patterns = tuple(word for argument in words for word in argument.split(",") if word)
                here = (*within, patterns)
                yield _Block(patterns, within)
            elif keyword == "match":
                here = None
            elif keyword == "include" and here is not None:
                for pattern in words:
                    for included in self._included(pattern, path, number, problems):
                        yield from self.blocks(included, here, depth + 1)

    def _included(self, pattern: str, path: Path, number: int, problems: Problems) -> list[Path]:
        if pattern.startswith("~/") and self._home is not None:
            pattern = str(self._home / pattern[2:])
        if Path(pattern).is_absolute():
            return _glob(Path("/"), pattern.lstrip("/"))
        # OpenSSH and the SSH library look for these only in ~/.ssh.
        if self._home is not None and (found := _glob(self._home / ".ssh", pattern)):
            return found
        if beside := _glob(path.parent, pattern):
            problems.fail(
                number,
                f"Include {pattern}: OpenSSH looks for this in ~/.ssh, not beside this file. "
                f"Write Include {path.parent.absolute() / pattern}"
                + (f" ({len(beside)} files)" if len(beside) > 1 else ""),
            )
        return []


def _glob(folder: Path, pattern: str) -> list[Path]:
    try:
        return sorted(path for path in folder.glob(pattern) if path.is_file())
    except (OSError, ValueError, NotImplementedError, RuntimeError):
        return []  # a pattern that cannot be a file name matches no file


def _keyword_and_arguments(line: str, number: int, problems: Problems) -> tuple[str, list[str]]:
    """Return a line's keyword in lower case and its arguments; only lines about names are split."""
    text = line.strip()
    keyword = re.split(r"[\s=]", text, maxsplit=1)[0].strip('"').lower()
    if keyword not in ("host", "match", "include"):
        return "", []
    try:
        words = shlex.split(text, comments=False)
    except ValueError as error:
        problems.fail(number, f"cannot be understood: {error}")
    # `Host=a` and `Host = a` are allowed as well as `Host a`; a word that begins with # ends the line.
    words = [word for word in " ".join(words[:1]).split("=", 1) if word] + words[1:]
    words = words[1:]
    if words and words[0] == "=":
        words = words[1:]
    elif words and words[0].startswith("="):
        words = [words[0][1:], *words[1:]]
    comment = next((index for index, word in enumerate(words) if word.startswith("#")), len(words))
    return keyword, words[:comment]


KIND = InventoryKind(table="ssh", title="in an OpenSSH configuration", load=load)
