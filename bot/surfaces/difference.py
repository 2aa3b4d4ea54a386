"""How sick nodes differ from their healthy peers, as JSON for scripts and as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bot.domain.safe_text import listed, safe
from bot.response.fleet.difference import Comparison, Difference
from bot.surfaces.text import wrapped

SCHEMA_VERSION = 1
NAMED = 8
TOLD = 12  # in text; the JSON has all


def difference_body(comparison: Comparison) -> dict[str, Any]:
    """Return the document. Shape: `surprise` is -log10 of Fisher's p; `corrected` is p times the tables tried."""
    return {
        "schema": SCHEMA_VERSION,
        "here": list(comparison.here),
        "there": list(comparison.there),
        "causes": list(comparison.causes),
        "without_cause": list(comparison.without),
        "left_out": [{"node": out.node, "because": safe(out.because)} for out in comparison.left_out],
        "not_evidence_of_health": [
            {"unit": safe(accident.unit), "nodes": list(accident.nodes), "says": safe(accident.says)}
            for accident in comparison.accidents
        ],
        "tried": comparison.tried,
        "differences": [_difference(difference) for difference in comparison.differences],
    }


def _difference(difference: Difference) -> dict[str, Any]:
    body: dict[str, Any] = {
        "fact": safe(difference.fact),
        "here": values(difference.here),
        "there": values(difference.there),
        "surprise": round(difference.surprise, 3),
        "corrected": float(f"{difference.corrected:.3g}"),
        "telling": difference.is_telling,
    }
    return body | ({"remark": safe(difference.remark)} if difference.remark else {})


def values(counts: Mapping[str, int]) -> str:
    """Return the values as words: a value alone where all nodes share it, else each with its count.

    Example:
    >>> values({"enabled": 3}), values({"enabled": 3, "none": 1})
    ('enabled', 'enabled (3 of 4), none (1 of 4)')
    """
    whole = sum(counts.values())
    if len(counts) == 1:
        return safe(next(iter(counts)))
    return listed([f"{safe(value)} ({count} of {whole})" for value, count in counts.items()], NAMED)


def difference_text(comparison: Comparison, width: int = 80) -> str:
    """Return the comparison as text."""
    return "\n".join(_lines(comparison, max(40, width))) + "\n"


def _lines(comparison: Comparison, width: int) -> Iterator[str]:
    yield from wrapped(f"{listed(comparison.here, NAMED)} beside {peers(comparison)}", width, "  ", first="")
    if comparison.causes:
        yield from wrapped(
            f"healthy: without {', '.join(comparison.causes)}, by its signature", width, "    ", first="  "
        )
    if said := without_cause(comparison):
        yield from wrapped(said, width, "    ", first="  ! ")
    for accident in comparison.accidents:
        yield ""
        yield from wrapped(accident.says, width, "    ", first="  ! ")
    yield ""
    if not comparison.differences:
        yield f"  {nothing(comparison)}"
    for difference in comparison.differences[:TOLD]:
        yield f"  {safe(difference.fact)}"
        yield from wrapped(
            f"here {values(difference.here)}; there {values(difference.there)}", width, "      ", first="    "
        )
        yield f"    {strength(difference)}"
        if difference.remark:
            yield from wrapped(difference.remark, width, "      ", first="    ! ")
    if more := len(comparison.differences) - TOLD:
        yield f"  … and {more} more: --json" if more > 0 else ""
    if comparison.left_out:
        yield ""
        yield from wrapped(left_out(comparison), width, "    ", first="  ")


def peers(comparison: Comparison) -> str:
    """Return how many peers there are. They are called healthy only if a cause could have left some of them out."""
    count = len(comparison.there)
    return f"{count:,} {'healthy ' if comparison.causes else ''}{'peer' if count == 1 else 'peers'}"


def without_cause(comparison: Comparison) -> str:
    """Return which of the nodes have no cause themselves, and what then becomes of the peers; empty if each has one."""
    if not comparison.without:
        return ""
    if not comparison.causes:
        return (
            "No cause shows on these nodes in a single look. So no peer was left out for one, and none need be healthy."
        )
    of_these = "has none of these causes itself" if len(comparison.without) == 1 else "have none of these causes"
    return f"{listed(comparison.without, NAMED)} {of_these}, and blurs the comparison: name the sick alone."


def nothing(comparison: Comparison) -> str:
    """Return why there is no difference: none was found, or nobody is left to compare with."""
    if not comparison.there:
        return "There is nothing to compare with: every peer is left out."
    return "Nothing that was read differs."


def strength(difference: Difference) -> str:
    """Return in words how likely chance explains it."""
    if difference.is_telling:
        return f"surprise {difference.surprise:.1f}: unlikely by chance, even among all facts compared"
    return f"surprise {difference.surprise:.1f}: may be chance, with so many facts compared"


def left_out(comparison: Comparison) -> str:
    """Return the nodes that were not compared, grouped by reason."""
    by_reason: dict[str, list[str]] = {}
    for out in comparison.left_out:
        by_reason.setdefault(out.because, []).append(out.node)
    said = [f"{listed(nodes, NAMED)} ({because})" for because, nodes in by_reason.items()]
    return f"Left out: {listed(said, NAMED, '; ')}"
