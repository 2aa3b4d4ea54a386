"""The library: every playbook, loaded and checked at the start, so that mistakes show before they matter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.domain.action import Action
from bot.domain.cause import Cause
from bot.domain.errors import PlaybookError, UnknownPlaybook
from bot.domain.nearest import did_you_mean
from bot.domain.playbook import Playbook
from bot.domain.probe import Probe
from bot.domain.problems import Problems
from bot.domain.safe_text import one_line
from bot.library.assembly import Assembled, Tables, assemble
from bot.library.checker import check
from bot.library.document import LIMIT_BYTES, Document, read_document_file
from bot.library.remedies import actions_for_playbooks
from bot.library.shapes import PlaybookShape

_SUFFIXES = {".yaml", ".yml"}
_LONGEST_CHAIN = 20


@dataclass(frozen=True, slots=True, eq=False)
class _Draft:
    """A valid playbook file that is not assembled yet."""

    path: Path
    shape: PlaybookShape
    document: Document

    def problems(self) -> Problems:
        return Problems(str(self.path), PlaybookError)


class Library:
    """The playbooks by name.

    Shape: a playbook in a later folder replaces the playbook of the same name in an earlier folder, and may extend it.
    """

    __slots__ = ("_drafts", "_playbooks", "_tables", "left_out", "usual")

    def __init__(self, drafts: Sequence[_Draft], tables: Tables, usual: str = "") -> None:
        self.usual = usual
        self._tables = tables
        self._drafts = tuple(drafts)
        self._playbooks: Mapping[str, Playbook] = {}
        self.left_out: Mapping[str, PlaybookError] = {}

    @classmethod
    def load(
        cls,
        folders: Iterable[Path],
        probes: Mapping[str, Probe],
        causes: Mapping[str, Cause],
        actions: Mapping[str, Action],
        *,
        lenient: bool = False,
        usual: str = "",
    ) -> Library:
        """Read every playbook (`*.yaml`, `*.yml`) in these folders.

        Shape: with `lenient` files that cannot be used are left out, and `left_out` has why, by the playbook's name
        (the file's, if it has none); whoever asks for it gets that reason. No playbook of another folder replaces it.
        `usual` is the name of the default playbook.
        Raises: PlaybookError, with file and line, when a folder, or without `lenient` any file in it, cannot be used.
        """
        library = cls((), Tables(probes, causes, actions), usual)
        faults: list[PlaybookError] = []
        left_out: dict[str, PlaybookError] = {}
        drafts: list[_Draft] = []
        for folder in folders:
            inside: dict[str, _Draft] = {}
            for path in _playbook_files(folder):
                try:
                    draft = library._read_draft(path)
                    if draft.shape.name in inside:
                        other = inside[draft.shape.name].path.name
                        draft.problems().fail(draft.document.line_of("name"), f"{other} has the same name")
                    inside[draft.shape.name] = draft
                except PlaybookError as fault:
                    faults.append(fault)
                    left_out[_name_in(path)] = fault
            drafts += inside.values()
        if not lenient:
            _raise_all(faults)  # before assembling, so that what extends a broken file is not reported too
        library._drafts = tuple(draft for draft in drafts if draft.shape.name not in left_out)
        library._playbooks, later = library._assembled()
        if not lenient:
            _raise_all(list(later.values()))
        library.left_out = {**later, **left_out}
        return library

    @property
    def rules_left_out(self) -> Mapping[str, str]:
        """Why causes of a site and rows of its tables cannot be used, by their names."""
        return {name: cause.left_out for name, cause in self._tables.causes.items() if cause.left_out}

    @property
    def names(self) -> tuple[str, ...]:
        """Every playbook's name."""
        return tuple(self._playbooks)

    @property
    def playbooks(self) -> tuple[Playbook, ...]:
        """Every playbook."""
        return tuple(self._playbooks.values())

    def get(self, name: str = "", /) -> Playbook:
        """Return the playbook of that name; without a name, the default.

        Raises: UnknownPlaybook, with the nearest names, when there is none.
        """
        name = name or self.usual
        if name in self.left_out:
            raise self.left_out[name]
        if name not in self._playbooks:
            raise UnknownPlaybook(
                f"There is no playbook {one_line(name, 60)!r}.", did_you_mean(name, sorted(self._playbooks))
            )
        return self._playbooks[name]

    def check_file(self, path: Path) -> Playbook:
        """Return a file's playbook, as if it were in this library.

        Raises: PlaybookError, with file and line, when it cannot be used as written.
        """
        draft = self._read_draft(path)
        others = [other for other in self._drafts if not _is_same_file(other.path, path)]
        return _Assembler([*others, draft], self._tables).of(draft).playbook

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a playbook's file, for editors."""
        from bot.library.json_schema import json_schema

        return json_schema(self._tables.probes, self._tables.causes, actions_for_playbooks(self._tables.actions))

    def _read_draft(self, path: Path) -> _Draft:
        problems = Problems(str(path), PlaybookError)
        document = read_document_file(path, "the playbook", problems)
        return _Draft(path, check(document, problems, PlaybookShape), document)

    def _assembled(self) -> tuple[Mapping[str, Playbook], Mapping[str, PlaybookError]]:
        """Return the playbooks, and why others cannot be assembled; for each name the latest counts."""
        assembler = _Assembler(self._drafts, self._tables)
        playbooks: dict[str, Playbook] = {}
        faults: dict[str, PlaybookError] = {}
        for draft in self._drafts:
            try:
                playbooks[draft.shape.name] = assembler.of(draft).playbook
            except PlaybookError as fault:
                faults[draft.shape.name] = fault
        return {name: playbook for name, playbook in playbooks.items() if name not in faults}, faults


class _Assembler:
    """Assembles drafts, each after the playbook that it extends."""

    def __init__(self, drafts: Sequence[_Draft], tables: Tables) -> None:
        self._drafts = drafts
        self._tables = tables
        self._done: dict[int, Assembled] = {}

    def of(self, draft: _Draft, below: tuple[_Draft, ...] = ()) -> Assembled:
        if id(draft) not in self._done:
            problems = draft.problems()
            line = draft.document.line_of("extends")
            if len(below) > _LONGEST_CHAIN:
                problems.fail(line, f"extends a chain of more than {_LONGEST_CHAIN} playbooks")
            if draft in below:
                chain = " extends ".join(link.shape.name for link in (*below[below.index(draft) :], draft))
                problems.fail(line, f"goes in a circle: {chain}")
            parent = None
            if draft.shape.extends is not None:
                parent = self._parent(draft, line, problems)
            inherited = self.of(parent, (*below, draft)) if parent is not None else None
            self._done[id(draft)] = assemble(
                draft.shape, draft.document, str(draft.path), inherited, self._tables, problems
            )
        return self._done[id(draft)]

    def _parent(self, draft: _Draft, line: int, problems: Problems) -> _Draft:
        """The latest playbook of that name; if a playbook extends its own name, the latest before it."""
        place = next(index for index, other in enumerate(self._drafts) if other is draft)
        own_name = draft.shape.extends == draft.shape.name
        candidates = self._drafts[:place] if own_name else self._drafts
        for candidate in reversed(candidates):
            if candidate.shape.name == draft.shape.extends:
                return candidate
        names = {other.shape.name for other in self._drafts} - {draft.shape.name}
        problems.unknown(line, "playbook", draft.shape.extends or "", sorted(names), "extends")
        raise problems.error()


def is_playbook(path: Path) -> bool:
    """True for the files of a folder that are read as playbooks."""
    return path.suffix in _SUFFIXES and not path.name.startswith(".")


def _raise_all(faults: Sequence[PlaybookError]) -> None:
    if faults:
        raise PlaybookError("\n".join(dict.fromkeys(str(fault) for fault in faults)))


def _name_in(path: Path) -> str:
    """Return the playbook name in an unusable file, or else the file's own name."""
    try:
        with path.open("rb") as file:
            found = re.search(rb"^name:[ \t]*[\"\']?([a-z][a-z0-9-]{0,63})", file.read(LIMIT_BYTES), re.MULTILINE)
    except OSError:
        found = None
    return found[1].decode() if found else path.stem


def _playbook_files(folder: Path) -> list[Path]:
    problems = Problems(str(folder), PlaybookError)
    try:
        return sorted(path for path in folder.iterdir() if is_playbook(path))
    except OSError as error:
        problems.fail(0, f"the folder of playbooks cannot be read: {error.strerror}")


def _is_same_file(path: Path, other: Path) -> bool:
    return path.absolute() == other.absolute() or (path.exists() and other.exists() and path.samefile(other))
