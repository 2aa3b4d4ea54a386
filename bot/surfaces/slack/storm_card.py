"""The one message of an alert storm: what it comes to by cause and label, and why nothing is offered; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from bot.domain.alarm_contracts import Storm
from bot.domain.incident import IncidentSummary
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.surfaces.slack.message import TEXT, Block, Message, bullets, clipped, escaped, footnote, header, paragraph

NAMES = ("instance_id", "private_dns", "hostname")  # labels that are another name of one node, and so group nothing
MOST_CAUSES = 12
MOST_LABELS = 4
MOST_NODES = 6
NO_CAUSE, READING, NAMELESS = "no cause found", "still being read", "no node named"

Labels = Mapping[str, Mapping[str, str]]


def storm_card(storm: Storm, why: str, labels: Labels) -> Message:
    """Return the message; `labels` are a node's, by its name, and `why` is why nothing is offered."""
    groups = _by_cause(storm.incidents)
    nodes = len({one.node for one in storm.incidents if one.node})
    words = f"Alert storm: {storm.cases} alerts on {nodes} nodes" + ("" if storm.is_on else ", over")
    lines = [(f"{cause} ({len(found)})", _said(found, labels)) for cause, found in groups[:MOST_CAUSES]]
    if len(groups) > MOST_CAUSES:
        lines.append((f"{len(groups) - MOST_CAUSES} more causes", "zombie incidents lists them all"))
    blocks: list[Block] = [header(words)]
    blocks += [bullets(lines)] if lines else []
    blocks += [paragraph(why), footnote("Each page still has its own note. /zombie check NODE reads one anew.")]
    told = "; ".join(f"{word}: {sentence}" for word, sentence in lines)
    return Message(clipped(escaped(f"{words}. {told}. {why}"), TEXT), tuple(blocks))


def _by_cause(incidents: Sequence[IncidentSummary]) -> list[tuple[str, list[IncidentSummary]]]:
    """Incidents by what was found, the most frequent first; what is still read comes last."""
    groups: dict[str, list[IncidentSummary]] = {}
    for one in incidents:
        groups.setdefault(_cause(one), []).append(one)
    return sorted(groups.items(), key=lambda group: (group[0] in (READING, NAMELESS), -len(group[1]), group[0]))


def _cause(incident: IncidentSummary) -> str:
    if not incident.node:
        return NAMELESS
    if incident.cause is not None:
        return one_line(incident.cause, 80)
    return READING if incident.state is State.OPENED else NO_CAUSE


def _said(found: Sequence[IncidentSummary], labels: Labels) -> str:
    nodes = list(dict.fromkeys(one.node for one in found if one.node))
    names = ", ".join(nodes[:MOST_NODES]) + (f" and {len(nodes) - MOST_NODES} more" if len(nodes) > MOST_NODES else "")
    shared = ", ".join(f"{label} {count}" for label, count in _most(nodes, labels))
    return " — ".join(part for part in (shared, names) if part)


def _most(nodes: Sequence[str], labels: Labels) -> Iterator[tuple[str, int]]:
    """The labels that most of these nodes share."""
    counted = Counter(
        f"{one_line(name, 40)}={one_line(value, 40)}"
        for node in nodes
        for name, value in labels.get(node, {}).items()
        if name not in NAMES
    )
    yield from ((label, count) for label, count in counted.most_common(MOST_LABELS) if count > 1 or len(nodes) == 1)
