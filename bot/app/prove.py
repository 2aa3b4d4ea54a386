"""`zombie lab prove`: goes through what can be proven, and writes a row as soon as it stands."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.app.factories import now
from bot.app.lab import lab, recipe, say
from bot.app.version import version
from bot.lab import tools
from bot.lab.program import Program
from bot.lab.prove import NotProven, Prover, Proving
from bot.response.proven_cures import ProvenTable, proven_file, read_table

_RECORDINGS = Path(__file__).parents[2] / "tests" / "captures" / "proven"


def prove(whole: Sequence[Proving], table: Path, again: bool, environment: Mapping[str, str]) -> int:
    """Prove one after the other what no row proves yet; return how many were not proven.

    Shape: what the sick nodes said is kept with the tests, or in a folder beside a table of one's own.
    Raises: UsageError when this machine cannot run them.
    """
    tools.need({**tools.FOR_QEMU, **tools.FOR_THE_IMAGE})
    here = lab(environment)
    with tempfile.TemporaryDirectory(prefix="zombie-prove-") as folder:

        def program(database: Path) -> Program:
            return Program.beside(environment, here.settings, database)

        prover = Prover(here, recipe, program, Path(folder), version(), now().date().isoformat(), say)
        try:
            recordings = _RECORDINGS if table == proven_file() else table.with_name("proven")
            failed = _prove_each(prover, whole, table, recordings, again)
        finally:
            prover.stop()
    return failed


def _prove_each(prover: Prover, whole: Sequence[Proving], table: Path, recordings: Path, again: bool) -> int:
    failed = 0
    for number, what in enumerate(whole, 1):
        known = _load_table(table)
        before = what.row_in(known)
        where = f"[{number}/{len(whole)}] {what.says}"
        if before is not None and not again:
            say(f"{where}: stands ({before.healed} of {before.runs} healed, {before.version}, {before.on})")
            continue
        say(where)
        try:
            row = prover.prove(what, before)
        except NotProven as no:
            failed += 1
            say(f"  NOT PROVEN, and not written down: {no}")
            continue
        failed += row.healed < row.runs
        if row.recording:
            recordings.mkdir(parents=True, exist_ok=True)
            (recordings / row.recording).write_bytes(gzip.compress(prover.said.read_bytes(), mtime=0))
        _save_table(table, _load_table(table).with_row(row))
        say(f"  proven: {row.healed} of {row.runs} healed, {row.seconds} s")
    return failed


def _load_table(path: Path) -> ProvenTable:
    return read_table(path) if path.exists() else ProvenTable((), ())


def _save_table(path: Path, table: ProvenTable) -> None:
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(table.text(), encoding="utf-8")
    beside.replace(path)
