"""Verdicts as text for a terminal: 80 columns, complete without colour."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from bot.chat.document import clipped
from bot.domain.safe_text import safe
from bot.domain.verdict import Status, Verdict
from bot.view.heat_strip import heat_strip
from bot.view.plan_words import BY_NAME, PlanWords
from bot.view.words import cause_words, open_points, plain, rights_hint, status_counts, trait_words, verdict_words

_COLOURS = {
    Status.HEALTHY: "32",
    Status.DEGRADED: "33",
    Status.CRITICAL: "1;31",
    Status.UNKNOWN: "35",
    Status.UNREACHABLE: "35",
}
_WORD = re.compile(r"\w+")
_LOGGED = re.compile(
    r"\[ *\d+\.\d+\]|\d{4}-\d\d-\d\d[T ]|[A-Z][a-z]{2} [ \d]\d \d\d:"
)  # the kernel's time, or the journal's


def headline(verdict: Verdict, colour: bool = False) -> str:
    """Return the verdict as a line: node, status, cause and confidence."""
    status = verdict.status.value.upper()
    if colour and not (verdict.status is Status.HEALTHY and verdict.is_only_unusual):  # green would end the search
        status = coloured(status, verdict.status)
    words = (safe(verdict.node), status, cause_words(verdict))
    return "  ".join(word for word in words if word)


def coloured(words: str, status: Status | None) -> str:
    """Return words in the colour of a status, for a terminal."""
    return f"\x1b[{_COLOURS[status]}m{words}\x1b[0m" if status is not None else words


def verdict_text(
    verdict: Verdict, width: int = 80, colour: bool = False, words: PlanWords = BY_NAME, shown_only: bool = True
) -> str:
    """Return the whole verdict. `shown_only`: its plan was never proposed to anybody, and says so."""
    helps = "What would help (shown only, nothing is done)" if shown_only else "What would help"
    return "\n".join(_verdict_lines(verdict, max(40, width), colour, words, helps)) + "\n"


def summary(verdicts: Sequence[Verdict], asked: int) -> str:
    """Return how many nodes have each status, worst first.

    Example:
    >>> summary([], 0)
    '0 of 0 nodes judged'
    """
    counts = status_counts(verdict.status for verdict in verdicts)
    return f"{len(verdicts)} of {asked} nodes judged" + (f": {counts}" if counts else "")


def wrapped(text: str, width: int, indent: str, first: str | None = None) -> list[str]:
    """Return text as lines of at most `width` columns; `first` stands before the first line in place of the indent."""
    return textwrap.wrap(
        safe(text),
        width,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines whose columns stand below each other; the first row is the headings."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _verdict_lines(verdict: Verdict, width: int, colour: bool, words: PlanWords, helps: str) -> Iterator[str]:
    yield headline(verdict, colour)
    for said in verdict_words(verdict):
        yield from wrapped(plain(said), width, "  ")
    if verdict.evidence:
        yield from _section("Evidence")
        for item in verdict.evidence:
            yield from wrapped(f"{item.probe}: {item.says}", width, "    ", first="  - ")
            for line in item.source:
                yield "      | " + _clip_to_proof(safe(line).expandtabs(4), item.says, width - 8)
    if own := [each for each in verdict.unusual if each.lines]:
        yield from _section("What is unusual, in the node's own lines")
        for each in own:
            yield from wrapped(each.name, width, "    ", first="  - ")
            yield from (f"      | {clipped(safe(line), width - 8)}" for line in each.lines)
    if verdict.heat is not None:
        yield from _section(f"Cores, by {verdict.heat.what}")
        yield from (f"    {line}" for line in heat_strip(verdict.heat, width - 4))
        yield from wrapped(verdict.heat.words, width, "    ")
    if verdict.suspects:
        yield from _section("Suspected")
        yield from wrapped(", ".join(verdict.suspects), width, "    ", first="  - ")
    if verdict.plan is not None:
        yield from _section(helps)
        plan = words.view(verdict.plan)
        for row in plan.ends:
            yield from wrapped(row, width, "         ", first="     ends ")
        if plan.ends_unread:
            yield from wrapped(plan.ends_unread, width, "     ")
        for step in plan.steps:
            yield f"  {step.number}. {step.words}"
            if step.impact != step.words:
                yield from wrapped(f"{step.impact}.", width, "     ")
            for command in step.commands:
                yield f"       {safe(command)}"  # whole, however wide: people copy it
        for note in verdict.plan.notes:
            yield from wrapped(note, width, "     ")
        if verdict.plan.lasting_fix:
            yield from wrapped(f"Lasting fix: {verdict.plan.lasting_fix}", width, "     ")
        yield f"     Plan {verdict.plan.digest[:16]}"
    elif verdict.lasting_fix and verdict.cause is not None:
        yield from _section("What would help")
        yield from wrapped(verdict.lasting_fix, width, "    ", first="  - ")
    if hint := rights_hint(verdict.unread):
        yield ""
        yield from wrapped(hint, width, "    ", first="  → ")
    for title, rows in open_points(verdict):
        yield from _section(title)
        for name, says in rows:
            yield from wrapped(f"{name}: {says}", width, "    ", first="  - ")
    about = trait_words(verdict.snapshot)
    yield ""
    yield from wrapped(f"{about} · " * bool(about) + verdict.took_words, width, "  ")


def _section(title: str) -> Sequence[str]:
    return ("", f"  {title}")


def _clip_to_proof(line: str, says: str, width: int) -> str:
    """A node's line, cut at the end that has less of what is said about it; a line of a log keeps what it says."""
    if len(line) <= width:
        return line
    left, right = clipped(line, width), "…" + line[1 - width :]
    said = set(_WORD.findall(says.lower()))
    first, last = (len(said.intersection(_WORD.findall(end.lower()))) for end in (left, right))
    return right if last > first or (last == first and _LOGGED.match(line)) else left
