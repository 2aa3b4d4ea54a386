"""Backtests: the verdicts of changed playbooks on cases, compared with those of the playbooks before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from bot.actions import ACTIONS
from bot.app import plugins
from bot.app.cases import judged_with_secrets, run_alone, surroundings, with_recorded_probes
from bot.app.factories import library
from bot.domain.builtin_playbooks import SiteRows, Taken
from bot.domain.case import Case
from bot.domain.errors import UsageError
from bot.extras.cases.verdict_comparison import Cell, Comparison, Pair, comparison_of
from bot.extras.cases.what_if import Judge, short_verdict
from bot.transport import case_file, expectations

WORTH_SHARING = 200  # cases: a process takes half a second to start, a case some milliseconds


@dataclass(frozen=True, slots=True)
class PlaybooksChange:
    """Which playbooks are compared: folders, and names.

    Shape: `changed` are the folders after the change; `against` those before it, with the shipped playbooks. `usual`
    is the playbook of a case that names none; `only` compares a single playbook, empty for all.
    """

    changed: tuple[Path, ...]
    usual: str
    against: tuple[Path, ...] = ()
    only: str = ""


def run_backtest(change: PlaybooksChange, files: Sequence[Path], processes: int = 1) -> tuple[Cell, ...]:
    """Return the cells of each case, in the order of the files; many cases are shared among processes.

    Raises: PlaybookError when a playbook cannot be used as written; CaseError for the first case that cannot be read.
    """
    backtest = Backtest(change)  # before any process starts, so that an error is reported once
    if processes < 2 or len(files) < WORTH_SHARING:
        return run_alone(backtest.cells_of(files))
    share = -(-len(files) // processes)
    shares = [files[at : at + share] for at in range(0, len(files), share)]
    with ProcessPoolExecutor(
        processes, get_context("spawn"), plugins.enable_plugins, (plugins.enabled_plugins(),)
    ) as workers:
        return tuple(cell for cells in workers.map(run_backtest, [change] * len(shares), shares) for cell in cells)


class Backtest:
    """The playbooks before and after a change, compared on cases.

    Shape: a case is judged by each changed playbook that differs from before, and by its own playbook
    where that inherits a change. A new playbook is compared with the case's own.
    """

    def __init__(self, change: PlaybooksChange) -> None:
        """Raises: PlaybookError when one cannot be used as written, or `only` is unknown; UsageError without any."""
        self._before, rows = library(change.against, strict=True), (SiteRows.taken(), SiteRows.definitions())
        self._after = library([*change.against, *change.changed], strict=True)
        # The tables of sites hold for all that is judged, so where they differ each side is judged with its own.
        self._rows = (rows[0], SiteRows.taken()) if SiteRows.definitions() != rows[1] else None
        self._usual, self._only = change.usual, change.only
        folders = {folder.absolute() for folder in change.changed}
        inside = (
            playbook.name for playbook in self._after.playbooks if Path(playbook.origin).absolute().parent in folders
        )
        self._names = (self._after.get(change.only).name,) if change.only else tuple(inside)
        if not self._names and not any(
            (folder / name).is_dir() for folder in change.changed for name in ("causes", "tables")
        ):  # a wrong folder must not pass for a change that flips nothing
            raise UsageError(
                f"There is no playbook in {', '.join(map(str, change.changed))}.", "Name the folder of *.yaml files."
            )
        self._pairs_of: dict[str, tuple[Pair, ...]] = {}
        self._expectations: dict[Path, Mapping[str, str]] = {}

    async def cells_of(self, files: Sequence[Path]) -> tuple[Cell, ...]:
        """Return the cells of each case, in the order of the files.

        Raises: what `cells` does, for the first of them.
        """
        return tuple([cell for path in files for cell in await self.cells(path)])

    async def cells(self, path: Path) -> tuple[Cell, ...]:
        """Return a case's cells, in the order of playbooks; the case is read and parsed once.

        Raises: CaseError when it cannot be read; UnknownPlaybook when `usual` names none.
        """
        case = case_file.load(path)
        own = case.head.playbook if case.head.playbook in self._after.names else self._usual
        expected, pairs = self._expected(path), self._pairs(own)
        judges = self._only or own  # a person's expectation applies to this playbook
        if expected is not None and all(pair.after.name != judges for pair in pairs):
            pairs = (*pairs, self._pair(judges, own))  # it judges as before, which may be wrong
        found = zip(pairs, await compared(case, pairs, self._rows), strict=True)
        cells = (Cell(str(path), case.head.node, p.after.name, p.before.name, said) for p, said in found)
        return tuple(replace(cell, expected=expected if cell.playbook == judges else None) for cell in cells)

    def _expected(self, path: Path) -> str | None:
        if path.parent not in self._expectations:
            self._expectations[path.parent] = expectations.expected(path.parent)
        return self._expectations[path.parent].get(path.name)

    def _pairs(self, own: str) -> tuple[Pair, ...]:
        """Return the pairs of playbooks for a case of that playbook."""
        if own not in self._pairs_of:
            names = self._names if self._only else dict.fromkeys((*self._names, own))
            pairs = [self._pair(name, own) for name in names]
            all_differ = self._only or self._rows
            self._pairs_of[own] = tuple(pair for pair in pairs if all_differ or pair.before.digest != pair.after.digest)
        return self._pairs_of[own]

    def _pair(self, name: str, own: str) -> Pair:
        before = next((other for other in (name, own) if other in self._before.names), self._usual)
        return Pair(self._before.get(before), self._after.get(name))


async def compared(
    case: Case, pairs: Sequence[Pair], rows: tuple[Taken, Taken] | None = None
) -> tuple[Comparison, ...]:
    """Return each pair's comparison on a case; the verdicts come without snapshots.

    Shape: `rows` are what sites' tables say before and after the change, where that differs.
    Raises: CaseError when the case holds settings that cannot be read.
    """
    return tuple([_without_bulk(await _compared_pair(case, pair, rows)) for pair in pairs])


async def _compared_pair(case: Case, pair: Pair, rows: tuple[Taken, Taken] | None) -> Comparison:
    if rows is not None:
        SiteRows.put(rows[0])
    before = await judged_with_secrets(case, pair.before)
    if rows is not None:
        SiteRows.put(rows[1])
        after = await judged_with_secrets(case, pair.after)
        return Comparison(before, after, otherwise=("what tables/ of the folders say differs",))
    if before.snapshot is None or not _ask_the_same(pair):
        return comparison_of(pair, before, await judged_with_secrets(case, pair.after))
    node, draining = surroundings(case.head)  # what the node said is parsed once
    judge = Judge(with_recorded_probes(case, pair.after), ACTIONS, node, draining, case.muted)
    return comparison_of(pair, before, judge.verdict(before.snapshot))


def _ask_the_same(pair: Pair) -> bool:
    """True for playbooks with the same probes; two may define different ones by the same name."""
    before, after = (
        {probe.name: (probe.definition, probe.commands) for probe in playbook.probes}
        for playbook in (pair.before, pair.after)
    )
    return before == after


def _without_bulk(comparison: Comparison) -> Comparison:
    """Return the part that is kept of each of thousands: short verdicts, and redacted texts."""
    return replace(comparison, before=short_verdict(comparison.before), after=short_verdict(comparison.after))
