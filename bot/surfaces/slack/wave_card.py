"""The card of a wave, from the first checks to its end, and the words of its dialogs. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.domain.duration import span
from bot.domain.safe_text import one_line
from bot.domain.wave import Wave, WaveState
from bot.response.fleet.ask import FleetAsk
from bot.surfaces.slack.blocks import asked_by, button, line, listing, row, slack_user, with_people
from bot.surfaces.slack.message import TEXT, Block, Message, clipped, escaped, footnote, header, paragraph
from bot.surfaces.view.standing import APPROVE, DECLINE
from bot.surfaces.waves import proposal_lines, wave_lines

STOP, RESUME = "wave-stop", "wave-resume"
SAID = 400
MOST_LINES = 16  # of a card; the terminal shows all
NAMES = 2_500  # characters of node names in a paragraph of a dialog


def checking_card(ask: FleetAsk, nodes: int, by: str) -> Message:
    """Say that the nodes are being checked, before there is a wave."""
    count = f"{nodes:,} {'node is' if nodes == 1 else 'nodes are'}"
    words = f"{count} being checked for {', '.join(ask.causes)}; then the wave is proposed here."
    words += f" {ask.control} of those that have it are left alone, drawn at random." if ask.control else ""
    blocks = (header("A wave is being prepared"), paragraph(words), *asked_by(by))
    return Message(clipped(escaped(words), TEXT), blocks)


def no_wave_card(because: str, by: str) -> Message:
    """Say why there is no wave."""
    words = clipped(one_line(because, SAID), SAID)
    return Message(clipped(escaped(f"No wave. {words}"), TEXT), (header("No wave"), paragraph(words), *asked_by(by)))


def wave_card(wave: Wave, does: str) -> Message:
    """Show the state of a wave, with the remaining buttons; `does` says what a yes does on each node."""
    causes, count = ", ".join(wave.proposal.causes), len(wave.proposal.members)
    title = f"Wave: {causes}, {count:,} {'node' if count == 1 else 'nodes'}, {wave.state}"
    proposed = wave.state is WaveState.PROPOSED
    _, *lines = (proposal_lines if proposed else wave_lines)(wave)  # the title says the first line
    if proposed:
        lines.insert(0, _does(does))
    closing = lines.pop() if wave.ending is not None else ""
    shown = [said.strip() for said in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append(f"More: zombie wave {wave.id}")
    blocks: tuple[Block, ...] = (
        header(title),
        *([line(*with_people(closing, _people(wave), SAID))] if closing else []),
        listing([with_people(said, _people(wave), SAID) for said in shown]),
        *_buttons(wave),
        footnote(f"zombie wave {wave.id}"),
        *asked_by(wave.asked_by),
    )
    return Message(clipped(escaped(f"{title}. {closing}".strip()), TEXT), blocks)


def dialog_words(wave: Wave, action: str, does: str) -> Iterator[str]:
    """Yield what the person who decides has to know: every node, what is done there, and in which order."""
    if action == STOP:
        yield "No further node of the wave begins. What has begun is finished, and its proof is read."
        return
    if action == RESUME and wave.stop is not None:
        yield f"It stopped: {one_line(wave.stop.because, SAID)}"
    members, proposal = wave.proposal.members, wave.proposal
    yield f"{wave.id}: {', '.join(proposal.causes)}. Stages: {' → '.join(map(str, proposal.stages))} cured."
    yield from _listed(f"{len(members):,} nodes, in this order: ", [member.node for member in members])
    if proposal.controls:
        yield from _listed("Left alone: ", [member.node for member in proposal.controls])
    yield _does(does)
    yield f"A yes lasts {span(proposal.expires)}. Digest of the whole: {proposal.digest[:16]}"
    if action == APPROVE:
        yield f"The plan of the first node, {members[0].node}, with every command:"


def _does(does: str) -> str:
    return f"What a yes does on each node, in its turn: {does}"


def _listed(before: str, names: Sequence[str]) -> Iterator[str]:
    said = before
    for name in names:
        if len(said) + len(name) > NAMES:
            yield said
            said = ""
        said += f"{name} "
    yield said


def _buttons(wave: Wave) -> Iterator[Block]:
    elements: list[Block] = []
    match wave.state:
        case WaveState.PROPOSED:
            elements = [button("Approve", APPROVE, wave.id, "primary"), button("Decline", DECLINE, wave.id)]
        case WaveState.RUNNING:
            elements = [button("Stop", STOP, wave.id, "danger")]
        case WaveState.STOPPED:
            elements = [button("Resume", RESUME, wave.id)]
    if elements:
        yield row(elements)


def _people(wave: Wave) -> frozenset[str]:
    """All people in Slack whom the card's sentences may name."""
    everybody = (wave.asked_by, wave.stopped_by, *(approval.by for approval in wave.approvals))
    return frozenset(by for by in everybody if slack_user(by))
