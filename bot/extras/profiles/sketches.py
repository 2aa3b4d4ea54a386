"""Sketches of profiles, stored with the cases of incidents, and found by the digest on record."""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain.case import Case, CaseHeader, read_case
from bot.domain.command import Completed
from bot.domain.contracts import Clock, Log
from bot.domain.errors import CaseError, LedgerError
from bot.domain.json_form import NotOfForm
from bot.domain.safe_text import one_line
from bot.extras.profiles.sketch import Sketch, read_sketch
from bot.ledger import CaseStore

SKETCH = "sketch"  # takes the place of a probe's name in a case


@dataclass(frozen=True, slots=True)
class Sketches:
    """Stores sketches and finds them. `program` names this program in what is stored."""

    cases: CaseStore
    clock: Clock
    program: str
    log: Log

    async def keep(self, under: str, drawn: Sketch | None) -> str:
        """Store a sketch under an incident's or a capture's id.

        Returns its content hash; empty where there is no sketch or it could not be stored, which is not an error.
        """
        if drawn is None:
            return ""
        case = Case(
            CaseHeader(drawn.node, self.clock(), 1, self.program), (Completed(SKETCH, SKETCH, 0, drawn.text()),)
        )
        try:
            return await self.cases.keep(under, case)
        except LedgerError as error:
            self.log("sketch_not_kept", under=under, error=one_line(str(error)))
            return ""

    async def find(self, under: str, digest: str) -> Sketch | None:
        """Return a sketch; None where it is no longer stored, or cannot be read."""
        try:
            text = await self.cases.text(under, digest) if digest else None
        except LedgerError as error:
            self.log("sketch_unread", under=under, error=one_line(str(error)))
            return None
        return sketch_in(text)


def sketch_in(text: str | None) -> Sketch | None:
    """Return the sketch in a stored text; None where there is none or it cannot be read."""
    try:
        runs = read_case(text, "A sketch", "").runs if text is not None else ()
        return next((read_sketch(run.stdout) for run in runs if run.probe == SKETCH), None)
    except (CaseError, NotOfForm):
        return None
