"""Verdicts as text for a terminal: 80 columns, and every word of it without colour."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from bot.domain.probe import Snapshot
from bot.domain.safe_text import safe
from bot.domain.verdict import Status, Verdict

_COLOURS = {
    Status.HEALTHY: "32",
    Status.DEGRADED: "33",
    Status.CRITICAL: "1;31",
    Status.UNKNOWN: "35",
    Status.UNREACHABLE: "35",
}

_WORST_FIRST = (Status.CRITICAL, Status.DEGRADED, Status.UNKNOWN, Status.UNREACHABLE, Status.HEALTHY)
_TRAITS = ("kernel", "cgroup", "driver", "distribution", "virtualisation", "cores", "up")  # others come after these


def headline(verdict: Verdict, colour: bool = False) -> str:
    """Return the verdict in one line: node, status, cause and confidence."""
    status = verdict.status.value.upper()
    if colour:
        status = f"\x1b[{_COLOURS[verdict.status]}m{status}\x1b[0m"
    words = [verdict.node, status]
    if verdict.cause is not None:
        words.append(verdict.cause + (f" ({verdict.confidence.value})" if verdict.confidence is not None else ""))
    return "  ".join([safe(verdict.node), *words[1:2], *map(safe, words[2:])])


def verdict_text(verdict: Verdict, width: int = 80, colour: bool = False) -> str:
    """Return the whole verdict."""
    return "\n".join(_lines(verdict, max(40, width), colour)) + "\n"


def summary_table(verdicts: Sequence[Verdict], asked: int) -> str:
    """Return how many nodes came to what, worst first.

    Example:
    >>> summary_table([], 0).strip()
    '0 of 0 nodes judged'
    """
    counts = {status: sum(1 for verdict in verdicts if verdict.status is status) for status in _WORST_FIRST}
    told = ", ".join(f"{count} {status.value}" for status, count in counts.items() if count)
    return f"{len(verdicts)} of {asked} nodes judged" + (f": {told}" if told else "") + "\n"


def facts(snapshot: Snapshot | None) -> str:
    """Return what thresholds hang on: kernel, cgroup mode, driver, distribution, cores and uptime, as far as read."""
    traits = dict(snapshot.traits) if snapshot is not None else {}
    ordered = {name: traits.pop(name) for name in _TRAITS if name in traits}
    return " · ".join(safe(said) for said in (ordered | traits).values())


def _lines(verdict: Verdict, width: int, colour: bool) -> Iterator[str]:
    yield headline(verdict, colour)
    yield from _wrapped(verdict.summary, width, "  ")
    if verdict.try_next:
        yield from _wrapped(verdict.try_next, width, "  ")
    if verdict.evidence:
        yield from _section("Evidence")
        for one in verdict.evidence:
            yield from _wrapped(f"{one.probe}: {one.says}", width, "    ", first="  - ")
            for line in one.source:
                yield _clipped(f"      | {safe(line).expandtabs(4)}", width)
    if verdict.suspects:
        yield from _section("Suspected")
        yield from _wrapped(", ".join(verdict.suspects), width, "    ", first="  - ")
    if verdict.plan is not None:
        yield from _section("What would help (shown only, nothing is done)")
        for number, step in enumerate(verdict.plan.steps, 1):
            yield f"  {number}. {safe(' '.join([step.action, *step.args.values()]))}"
            for command in step.commands:
                yield f"       {safe(command)}"  # whole, however wide: it is there to be copied
        for note in verdict.plan.notes:
            yield from _wrapped(note, width, "     ")
        if verdict.plan.lasting_fix:
            yield from _wrapped(f"Lasting fix: {verdict.plan.lasting_fix}", width, "     ")
        yield f"     Plan {verdict.plan.digest[:16]}"
    elif verdict.lasting_fix and verdict.cause is not None:
        yield from _section("What would help")
        yield from _wrapped(verdict.lasting_fix, width, "    ", first="  - ")
    if verdict.ruled_out:
        yield from _section("Ruled out")
        for no in verdict.ruled_out:
            yield from _wrapped(f"{no.cause}: {no.because}", width, "    ", first="  - ")
    if verdict.unread:
        yield from _section("Not read")
        for unread in verdict.unread:
            yield from _wrapped(f"{unread.probe}: {unread.reason}", width, "    ", first="  - ")
    about = facts(verdict.snapshot)
    yield ""
    yield from _wrapped(f"{about} · " * bool(about) + f"read in {verdict.took.total_seconds():.1f} s", width, "  ")


def _section(title: str) -> Sequence[str]:
    return ("", f"  {title}")


def _wrapped(text: str, width: int, indent: str, first: str | None = None) -> list[str]:
    return textwrap.wrap(
        safe(text),
        width,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )


def _clipped(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1] + "…"
