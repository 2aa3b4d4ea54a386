"""A wave as people and scripts see it, worded once for terminal and chat."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.domain.action import KEEPS, EndedItem, PlanImpact
from bot.domain.duration import span_words
from bot.domain.entry import instant_text
from bot.domain.incident import Incident
from bot.domain.safe_text import counted, listed, one_line, safe, safe_value
from bot.extras.waves.events import TurnOutcome, WaveDeclined, WaveEnded, WaveMember
from bot.extras.waves.wave import Wave, WaveState
from bot.surfaces.document import ends_body
from bot.view.plan_words import NOTHING_SEEN, PlanView, PlanWords, end_words

MOST_SHOWN = 12  # of the nodes that are listed by name
MOST_ENDS = 12  # rows of what ends, beside databases and members of a quorum
ENDS = "What ends, on all nodes together:"
IN_TABLE = "named with each node"
_GRAVEST = (KEEPS, "guest", "gpu", "jobs", "process", "containers", "unit")
DIGEST = 32  # digits of a wave's digest that a person types and a dialog carries
NOT_SHOWN = "The plan of {node} is not on record as it was proposed."
_APART = {"boot_id": "<boot>", "address": "<address>"}  # each node's own: they stand in the table


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A member of a wave, and what is its own in its plan.

    Shape: `affects` is what else the plan touches there. `ends` is what ends with it, None if nothing does or it was
    not looked at; `ends_words` says that in words, with what could not be looked at.
    """

    node: str
    incident: str
    address: str
    boot: str
    digest: str
    affects: tuple[str, ...] = ()
    ends: PlanImpact | None = None
    ends_words: str = ""

    @property
    def is_known(self) -> bool:
        """True if all that ends there is known."""
        return not self.ends_words if self.ends is None else not self.ends.unread


@dataclass(frozen=True, slots=True)
class SharedPlan:
    """The same plan on some of a wave's nodes.

    Shape: in `commands` and `also` stand `<boot>`, `<address>`, `<node>` and `<incident>` where the plans differ by
    nothing else; each node's own stand in `nodes`. A plan of a single node has its exact commands.
    """

    words: str
    commands: tuple[str, ...]
    also: tuple[str, ...]
    notes: tuple[str, ...]
    effect: str
    lasting_fix: str
    nodes: tuple[PlannedNode, ...]


@dataclass(frozen=True, slots=True)
class WavePlans:
    """Every plan of a wave, the one of most nodes first. `missing` are the members whose plan cannot be shown."""

    shared: tuple[SharedPlan, ...]
    missing: tuple[str, ...] = ()

    @property
    def does(self) -> str:
        """What a yes does, in words; it counts every member."""
        found = Counter[str]()
        for plan in self.shared:
            found[plan.words] += len(plan.nodes)
        said = [f"{count:,} × {words}" for words, count in found.most_common()]
        return "; ".join([*said, *([f"{len(self.missing):,} × not known"] if self.missing else [])])

    def ends(self, most: int = MOST_ENDS) -> tuple[str, ...]:
        """Return what ends on all nodes together, a row each, and where that is not known.

        Shape: databases and members of a quorum come first, each with its nodes; of the rest the first `most` rows.
        """
        found: dict[tuple[str, str], list[tuple[str, EndedItem]]] = {}
        nodes = [node for plan in self.shared for node in plan.nodes]
        for node in nodes:
            for end in node.ends.rows if node.ends is not None else ():
                what = IN_TABLE if end.kind == "containers" else end.what
                found.setdefault((end.kind, what), []).append((node.node, end))
        rows = [(_summed_end(what, kind, where), where) for (kind, what), where in found.items()]
        rows.sort(key=lambda row: (_GRAVEST.index(row[0].kind) if row[0].kind in _GRAVEST else 9, -row[0].count))
        kept = sum(end.kind == KEEPS for end, _ in rows)
        said = [f"{end_words(end)}, on {_where_words(end, where)}" for end, where in rows[: kept + most]]
        more = len(rows) - len(said) + sum(node.ends.more for node in nodes if node.ends is not None)
        if more > 0:
            said.append(f"{more:,} more, named with each node")
        unknown = [*(node.node for node in nodes if not node.is_known), *self.missing]
        if unknown:
            said.append(f"what else ends is not known on {counted(len(unknown), 'node')}: {_names(unknown)}")
        elif not said and any(node.ends is not None for node in nodes):
            said.append(NOTHING_SEEN)
        return tuple(map(safe, said))

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Yield a row for each node, as `ROW` says; what ends, and what is touched, is never shortened."""
        for number, plan in enumerate(self.shared, 1):
            for node in plan.nodes:
                address, boot, affects = one_line(node.address, 80), one_line(node.boot, 60), "; ".join(node.affects)
                touched, ends = (one_line(text, len(text) + 1) for text in (affects, node.ends_words))
                yield one_line(node.node, 80), str(number), node.incident, address, boot, touched, ends

    def lines(self) -> Iterator[str]:
        """Yield all of it as lines of text: what ends, each plan with every command, then a line for each node."""
        if ends := self.ends():
            yield ENDS
            yield from (f"  {row}" for row in ends)
        for number, plan in enumerate(self.shared, 1):
            yield safe(f"Plan {number} of {len(self.shared)}, {counted(len(plan.nodes), 'node')}: {plan.words}")
            yield from (f"  $ {safe(command)}" for command in plan.commands)
            yield from (safe(f"  {said}") for said in (plan.effect, *plan.also, *plan.notes) if said)
            if plan.lasting_fix:
                yield safe(f"  Lasting fix: {plan.lasting_fix}")
        widths = [max(map(len, column)) for column in zip(*([ROW, *self.rows()]), strict=True)]
        for row in (ROW, *self.rows()):
            yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        yield from (safe(NOT_SHOWN.format(node=name)) for name in self.missing)

    def body(self) -> list[dict[str, Any]]:
        """Return them as scripts read them; texts are made safe."""
        return [
            {
                "does": safe(plan.words),
                "commands": list(map(safe, plan.commands)),
                "also": list(map(safe, plan.also)),
                "notes": list(map(safe, plan.notes)),
                "nodes": [
                    {
                        "node": safe(node.node),
                        "incident": node.incident,
                        "address": safe(node.address),
                        "boot": safe(node.boot),
                        "digest": node.digest,
                        "affects": list(map(safe, node.affects)),
                        **(safe_value(ends_body(node.ends)) if node.ends is not None else {}),
                    }
                    for node in plan.nodes
                ],
            }
            for plan in self.shared
        ]


ROW = ("node", "plan", "incident", "address", "boot", "also touched", "what ends")


def wave_plans(wave: Wave, incidents: Mapping[str, Incident], words: PlanWords) -> WavePlans:
    """Return the plans of a wave's members, grouped; `incidents` are theirs, by id."""
    shared: dict[tuple[object, ...], list[tuple[PlanView, PlannedNode]]] = {}
    missing = []
    for member in wave.proposal.members:
        incident = incidents.get(member.incident)
        view = words.of_incident(incident) if incident is not None else None
        proposal = incident.proposal if incident is not None else None
        if view is None or proposal is None or not proposal.is_unaltered or proposal.digest != member.digest:
            missing.append(member.node)
            continue
        binds = proposal.binds
        own = PlannedNode(
            member.node,
            member.incident,
            binds.get("address", ""),
            binds.get("boot_id", ""),
            proposal.digest,
            proposal.affects,
            proposal.plan.ends,
            view.ends_words(),
        )
        alike = [tuple(_without_own(text, member, binds) for text in texts) for texts in (view.commands, view.also)]
        key = (view.words, *alike, view.notes, view.effect, view.lasting_fix)
        shared.setdefault(key, []).append((view, own))
    found = []
    for (does, commands, also, *_), members in shared.items():
        view = members[0][0]
        exact = (view.commands, view.also) if len(members) == 1 else (commands, also)
        nodes = tuple(own for _, own in members)
        found.append(SharedPlan(str(does), *exact, view.notes, view.effect, view.lasting_fix, nodes))  # type: ignore[arg-type]
    return WavePlans(tuple(sorted(found, key=lambda plan: -len(plan.nodes))), tuple(missing))


def _without_own(text: str, member: WaveMember, binds: Mapping[str, str]) -> str:
    """Return the text with marks in the place of what is this node's own, where it stands as a whole word."""
    own = {binds.get(name, ""): mark for name, mark in _APART.items()}
    own |= {member.node: "<node>", member.incident: "<incident>"}
    own.pop("", None)
    longest = "|".join(re.escape(value) for value in sorted(own, key=len, reverse=True))
    return re.sub(rf"(?<![\w.-])(?:{longest})(?![\w.-])", lambda found: own[found[0]], text)


def _summed_end(what: str, kind: str, where: Sequence[tuple[str, EndedItem]]) -> EndedItem:
    ends = [end for _, end in where]
    oldest = max((end.age for end in ends if end.age is not None), default=None)
    return EndedItem(what, kind, sum(end.count for end in ends), sum(end.gpus for end in ends), oldest)


def _where_words(end: EndedItem, where: Sequence[tuple[str, EndedItem]]) -> str:
    names = [name for name, _ in where]
    return _names(names) if end.kind == KEEPS or len(names) == 1 else counted(len(names), "node")


def wave_headline(wave: Wave) -> str:
    """Return the wave as a line."""
    causes = ", ".join(wave.proposal.causes)
    done = sum(turn.outcome is not None for turn in wave.turns)
    return safe(f"{wave.id}: {causes}, {len(wave.proposal.members)} nodes, {wave.state}, {done} had their turn")


def wave_lines(wave: Wave) -> tuple[str, ...]:
    """Return what a person has to know about it, the most urgent first."""
    lines, proposal = [wave_headline(wave)], wave.proposal
    if wave.state is WaveState.PROPOSED:
        said = f"{len(wave.endorsements)} of {proposal.approvals_needed}"
        asked = f"{wave.asked_by} asked for it, and may say yes only with self_approval"
        lines.append(f"It waits for a yes ({said}); {asked}.")
    if wave.stop is not None:
        lines.append(f"Stopped: {wave.stop.because}")
    present = "" if wave.ended else f"; the present stage is {wave.stage}"
    lines.append(f"Stages: {' → '.join(map(str, proposal.stages))} cured{present}.")
    for outcome in TurnOutcome:
        turns = wave.having(outcome)
        if turns:
            lines.append(f"{outcome}: {len(turns)}: {_names([turn.member.node for turn in turns])}")
    lines += [f"  {turn.member.node}: {turn.because}" for turn in wave.having(TurnOutcome.FAILED)[:MOST_SHOWN]]
    lines += [f"  {turn.member.node}: {turn.because}" for turn in wave.having(TurnOutcome.DROPPED)[-MOST_SHOWN:]]
    if wave.under_way:
        lines.append(
            f"under way: {_names([f'{turn.member.node} ({turn.member.incident})' for turn in wave.under_way])}"
        )
    if wave.waiting:
        turn = "had no turn" if wave.ended else "to come"
        lines.append(f"{turn}: {len(wave.waiting)}: {_names([member.node for member in wave.waiting])}")
    if proposal.controls:
        lines.append(f"left alone: {len(proposal.controls)}: {_names([member.node for member in proposal.controls])}")
    if wave.until is not None:
        until = "" if wave.ended else f" until {wave.until:%Y-%m-%d %H:%M} UTC"
        lines.append(f"approved by {_names([approval.by for approval in wave.approvals])}{until}")
    match wave.ending:
        case WaveDeclined(reason=reason):
            lines.append(f"Declined: {reason}")
        case WaveEnded() as ended:
            cured = len(wave.having(TurnOutcome.CURED))
            said = f"At the end {cured} of {len(proposal.members)} were cured."
            lines.append(f"{said} {ended.because}".strip())
    return tuple(safe(line).replace("\n", " ") for line in lines)  # a reason adds no line to what the bot says


def wave_body(wave: Wave, plans: WavePlans | None = None) -> dict[str, Any]:
    """Return the wave as scripts read it, with its plans where they are given; texts are made safe."""
    proposal = wave.proposal
    return {
        "schema": 1,
        "id": wave.id,
        "state": wave.state.value,
        "causes": list(map(safe, proposal.causes)),
        "selectors": list(map(safe, proposal.selectors)),
        "asked_by": wave.asked_by,
        "approved_by": [approval.by for approval in wave.approvals],
        "digest": proposal.digest,
        "opened_at": instant_text(wave.opened_at),
        "until": instant_text(wave.until) if wave.until is not None else None,
        "stages": list(proposal.stages),
        "stage": wave.stage,
        "stopped": safe(wave.stop.because) if wave.stop is not None else None,
        "nodes": [
            {
                "node": turn.member.node,
                "incident": turn.member.incident,
                "turn": turn.outcome.value if turn.outcome is not None else "under way",
                "because": safe(turn.because),
            }
            for turn in wave.turns
        ]
        + [{"node": each.node, "incident": each.incident, "turn": "to come", "because": ""} for each in wave.waiting],
        "controls": [{"node": each.node, "incident": each.incident} for each in proposal.controls],
        "effect": None,  # of control groups, which are gone
        **(
            {
                "does": safe(plans.does),
                "ends": plans.ends(),
                "plans": plans.body(),
                "missing": list(map(safe, plans.missing)),
            }
            if plans is not None
            else {}
        ),
    }


def proposal_lines(wave: Wave) -> tuple[str, ...]:
    """Return what an approver has to know beside the plans."""
    proposal = wave.proposal
    return (
        *wave_lines(wave),
        f"Each node is read again before its own step. A yes lasts {span_words(proposal.expires)}.",
        f"Digest of the whole: {proposal.digest[:DIGEST]}",
    )


def interrupted_lines(wave: Wave) -> tuple[str, ...]:
    """Return what to say when `wave run` is interrupted: the approval lives on, and a step may be due."""
    if wave.state is not WaveState.RUNNING:
        return ("zombie: interrupted",)
    begun = [turn.member.node for turn in wave.under_way]
    under_way = f"; under way: {_names(begun)}" if begun else ""
    return (
        safe(f"zombie: interrupted; the wave is still approved{under_way}."),
        f"        A running `zombie serve` goes on with it. Without one: zombie wave run {wave.id}",
        f"        To end it: zombie wave stop {wave.id} --reason TEXT",
    )


def _names(names: Sequence[str]) -> str:
    return listed(names, MOST_SHOWN)
