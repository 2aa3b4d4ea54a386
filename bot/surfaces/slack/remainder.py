"""What a card says of everything beside its verdict: what is undecided, what was ruled out, what was not read."""

from __future__ import annotations

from collections.abc import Iterator

from bot.domain.verdict import Verdict
from bot.surfaces.slack.message import Block, clipped, footnote

SAID = 500


def remainder(verdict: Verdict) -> Iterator[Block]:
    """One line for the causes, one for the probes; the thread has the reasons, and a folded list of each."""
    causes = []
    if verdict.undecided:
        causes.append(f"Undecided: {', '.join(open_.cause for open_ in verdict.undecided)}.")
    if verdict.ruled_out:
        causes.append(f"Ruled out: {len(verdict.ruled_out)}.")
    if causes:
        yield footnote(clipped(f"{' '.join(causes)} The reasons are in the thread.", SAID))
    if verdict.unread:
        names = ", ".join(unread.probe for unread in verdict.unread)
        yield footnote(clipped(f"Not read: {names}. The reasons are in the thread.", SAID))
