"""A sweep over a fleet as JSON for scripts and as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bot.domain.safe_text import listed, safe, safe_value
from bot.response.fleet.answer import NodeAnswer
from bot.response.fleet.report import CauseCount, FleetReport
from bot.surfaces.text import wrapped

SCHEMA_VERSION = 1
NODES_NAMED = 8  # of a cause, in text; the JSON names all
GROUPS_TOLD = 6


def fleet_body(report: FleetReport, *, verdicts: bool = False) -> dict[str, Any]:
    """Return the document.

    Shape: `share` is of the nodes that answered, null where none did; `interval` is Wilson's 95 %. `exact`: every
    selected node was read. `unread` are the nodes that nobody read; they are not among those that answered.
    """
    body: dict[str, Any] = {
        "schema": SCHEMA_VERSION,
        "selected": report.selected,
        "asked": report.asked,
        "answered": report.answered,
        "unreachable": [
            {"node": answer.node, "class": answer.unreachable_class, "because": answer.because}
            for answer in report.unreachable
        ],
        "unknown": [answer.node for answer in report.unknown],
        "unread": list(report.unread),
        "causes": [_cause(count, bool(report.answered)) for count in report.causes],
        "by": {
            label: {
                value: {"asked": group.asked, "answered": group.answered, "causes": dict(group.causes)}
                for value, group in values.items()
            }
            for label, values in report.by.items()
        },
        "complete": report.is_whole,
        "seconds": round(report.seconds, 3),
    }
    if report.same_machines:
        body["remarks"] = list(remarks(report))
    if verdicts:
        body["nodes"] = [_node(answer) for answer in report.answers]
    cleaned: dict[str, Any] = safe_value(body)
    return cleaned


def _cause(count: CauseCount, is_known: bool) -> dict[str, Any]:
    return {
        "cause": count.cause,
        "judged": count.judged.value,
        "nodes": list(count.nodes),
        "share": round(count.prevalence.share, 6) if is_known else None,
        "interval": [round(bound, 6) for bound in count.prevalence.interval],
        "exact": count.prevalence.is_exact,
        "undecided": list(count.undecided),
        "muted": list(count.muted),
    }


def _node(answer: NodeAnswer) -> dict[str, Any]:
    return {
        "node": answer.node,
        "status": answer.status,
        "cause": answer.cause or None,
        "confidence": answer.confidence or None,
        "summary": answer.because,
    }


def remarks(report: FleetReport) -> tuple[str, ...]:
    """Return a sentence for each machine-id that several nodes share."""
    return tuple(
        f"{', '.join(names[:NODES_NAMED])} share the machine-id {machine_id}: the same machine, or a copied image. "
        "They are counted separately."
        for machine_id, names in report.same_machines
    )


def answer_line(answer: NodeAnswer) -> str:
    """Return a node's answer as a complete line."""
    if answer.unreachable_class:
        return f"{safe(answer.node)}  UNREACHABLE  {safe(answer.because)}"
    if answer.found:
        causes = ", ".join(
            f"{found.cause} ({found.confidence}{', muted' if found.muted else ''})" for found in answer.found
        )
        return f"{safe(answer.node)}  {answer.status.upper()}  {safe(causes)}"
    return f"{safe(answer.node)}  {answer.status.upper()}"


def fleet_text(report: FleetReport, width: int = 80) -> str:
    """Return the whole report."""
    return "\n".join(_lines(report, max(40, width))) + "\n"


def _lines(report: FleetReport, width: int) -> Iterator[str]:
    yield from wrapped(headline(report), width, "")
    found = [count for count in report.causes if count.nodes]
    for count in found:
        yield ""
        how = "" if count.judged.value == "full" else ", by its signature: possible, not proven"
        yield f"  {count.cause}{how}"
        yield from wrapped(f"{count.prevalence.says}", width, "    ")
        yield from wrapped(listed(count.nodes, NODES_NAMED), width, "      ", first="    on ")
        if count.muted:
            said = f"muted on {len(count.muted):,} of them: {listed(count.muted, NODES_NAMED)}"
            yield from wrapped(said, width, "      ", first="    ")
        for label, counts in among(report, count.cause):
            yield from wrapped(f"by {label}: {counts}", width, "      ", first="    ")
        if count.undecided:
            yield from wrapped(f"not known for {listed(count.undecided, NODES_NAMED)}", width, "      ", first="    ")
    clear = [count for count in report.causes if not count.nodes and not count.undecided]
    if clear and report.answered:  # without answers nothing can be said
        yield ""
        yield from wrapped("Not found: " + ", ".join(count.cause for count in clear), width, "    ", first="  ")
    if unsure := [count for count in report.causes if not count.nodes and count.undecided]:
        said = "; ".join(f"{count.cause} of {listed(count.undecided, 3)}" for count in unsure)
        yield from wrapped(f"Not found, but not known for every node: {said}", width, "    ", first="  ")
    if report.unreachable:
        silent = [f"{answer.node} ({answer.unreachable_class})" for answer in report.unreachable]
        yield from wrapped(f"Nobody could talk to {listed(silent, NODES_NAMED, '; ')}", width, "    ", first="  ")
    if report.unknown:
        yield from wrapped(
            f"Unknown: {listed([answer.node for answer in report.unknown], NODES_NAMED)}", width, "    ", first="  "
        )
    for remark in remarks(report):
        yield from wrapped(remark, width, "    ", first="  ")
    if any(count.judged.value == "signature" for count in found):
        yield ""
        yield from wrapped("For verdicts: zombie check NODE, or this again with --full.", width, "  ", first="  ")


def headline(report: FleetReport) -> str:
    """Return a line: how many nodes were selected, asked and answered."""
    drawn = f", a sample of {report.selected:,}" if report.asked < report.selected else ""
    broken_off = "" if report.is_whole else f"; stopped after {len(report.answers):,} of them"
    return f"{report.answered:,} of {report.asked:,} nodes answered{drawn}{broken_off}, in {report.seconds:.1f} s"


def among(report: FleetReport, cause: str) -> Iterator[tuple[str, str]]:
    """Yield, by label, which nodes have a cause; a label with the same value on all nodes is left out."""
    for label, values in report.by.items():
        if len(values) < 2:
            continue
        ordered = sorted(values.items(), key=lambda item: -item[1].causes.get(cause, 0))
        counts = [f"{value} {group.causes.get(cause, 0)} of {group.answered}" for value, group in ordered]
        yield label, listed(counts, GROUPS_TOLD)
