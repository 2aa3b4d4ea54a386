"""A wave as people and scripts see it, worded once for terminal and chat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.domain.duration import span
from bot.domain.entry import instant_text
from bot.domain.safe_text import listed, safe
from bot.domain.wave import Wave, WaveState
from bot.domain.wave_effect import Effect
from bot.domain.wave_events import TurnOutcome, WaveDeclined, WaveEnded

MOST_SHOWN = 12  # of the nodes that are listed by name


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
            lines.append(_end(wave, ended))
    return tuple(map(safe, lines))


def _end(wave: Wave, ended: WaveEnded) -> str:
    if (effect := Effect.of(ended.treated, ended.controls)) is not None:
        unread = ended.treated.unread + ended.controls.unread
        return f"At the end {effect.says}." + (f"  {unread} could not be read." if unread else "")
    cured = len(wave.having(TurnOutcome.CURED))
    says = f"At the end {cured} of {len(wave.proposal.members)} were cured."
    return says if wave.proposal.controls else f"{says} No nodes were left alone, so chance cannot be ruled out."


def wave_body(wave: Wave) -> dict[str, Any]:
    """Return the wave as scripts read it; texts are made safe."""
    proposal, ended = wave.proposal, wave.ending if isinstance(wave.ending, WaveEnded) else None
    effect = Effect.of(ended.treated, ended.controls) if ended is not None else None
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
        "effect": {
            "treated": {"nodes": effect.treated.asked, "well": effect.treated.found},
            "controls": {"nodes": effect.controls.asked, "well": effect.controls.found},
            "difference": round(effect.difference, 6),
            "interval": [round(bound, 6) for bound in effect.interval],
        }
        if effect is not None
        else None,
    }


def proposal_lines(wave: Wave) -> tuple[str, ...]:
    """Return what an approver has to know first."""
    proposal = wave.proposal
    return (
        *wave_lines(wave),
        f"Each node is read again before its own step. A yes lasts {span(proposal.expires)}.",
        f"Digest of the whole: {proposal.digest[:16]}",
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
