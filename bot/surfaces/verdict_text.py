"""Verdicts as text for a terminal: 80 columns, complete without colour."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from bot.chat.document import clipped
from bot.domain.safe_text import safe
from bot.domain.verdict import Status, Verdict
from bot.view.heat_strip import heat_strip
from bot.view.plan_words import BY_NAME, PlanView, PlanWords
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
    yield from _section("Evidence", [(item.probe, item.says, item.source) for item in verdict.evidence], width)
    own = [(each.name, "", each.lines) for each in verdict.unusual if each.lines]
    yield from _section("What is unusual, in the node's own lines", own, width)
    if verdict.heat is not None:
        yield from ("", f"  Cores, by {verdict.heat.what}")
        yield from (f"    {line}" for line in heat_strip(verdict.heat, width - 4))
        yield from wrapped(verdict.heat.words, width, "    ")
    if verdict.suspects:
        yield from _section("Suspected", [("", ", ".join(verdict.suspects), ())], width)
    if verdict.plan is not None:
        yield from ("", f"  {helps}", *_plan_lines(words.view(verdict.plan), width))
    elif verdict.lasting_fix and verdict.cause is not None:
        yield from _section("What would help", [("", verdict.lasting_fix, ())], width)
    if hint := rights_hint(verdict.unread):
        yield from ("", *wrapped(hint, width, "    ", first="  → "))
    for title, rows in open_points(verdict):
        yield from _section(title, [(name, says, ()) for name, says in rows], width)
    about = trait_words(verdict.snapshot)
    yield from ("", *wrapped(f"{about} · " * bool(about) + verdict.took_words, width, "  "))


def _section(title: str, rows: Sequence[tuple[str, str, Sequence[str]]], width: int) -> Iterator[str]:
    """A title, and below it each row: its name, what is said of it, and the node's own lines; nothing without rows."""
    yield from ("", f"  {title}") if rows else ()
    for name, says, lines in rows:
        yield from wrapped(": ".join(filter(None, (name, says))), width, "    ", first="  - ")
        yield from (f"      | {_clip_to_proof(safe(line).expandtabs(4), says, width - 8)}" for line in lines)


def _plan_lines(plan: PlanView, width: int) -> Iterator[str]:
    for row in plan.ends:
        yield from wrapped(row, width, "         ", first="     ends ")
    yield from wrapped(plan.ends_unread, width, "     ")
    for step in plan.steps:
        yield f"  {step.number}. {step.words}"
        yield from wrapped(f"{step.impact}.", width, "     ") if step.impact != step.words else ()
        yield from (f"       {safe(command)}" for command in step.commands)  # whole, however wide: people copy it
    for note in (*plan.notes, f"Lasting fix: {plan.lasting_fix}" if plan.lasting_fix else ""):
        yield from wrapped(note, width, "     ")
    yield f"     Plan {plan.digest[:16]}"


def _clip_to_proof(line: str, says: str, width: int) -> str:
    """A node's line, cut at the end that has less of what is said about it; a line of a log keeps what it says."""
    if len(line) <= width:
        return line
    left, right = clipped(line, width), "…" + line[1 - width :]
    said = set(_WORD.findall(says.lower()))
    first, last = (len(said.intersection(_WORD.findall(end.lower()))) for end in (left, right))
    return right if last > first or (last == first and _LOGGED.match(line)) else left
