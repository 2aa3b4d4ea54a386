"""The card of a wave, from the first checks to its end, and the contents of its dialogs. Pure functions.

A yes is never blind: the dialog holds every plan of the wave with every command, or there is no dialog. The table of
nodes stands there and on the card where it fits, else in a file in the card's thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bot.domain.duration import span
from bot.domain.errors import CannotTell
from bot.domain.safe_text import one_line, safe
from bot.extras.waves.wave import Wave, WaveState
from bot.extras.waves.words import DIGEST, MOST_ENDS, NOT_SHOWN, ROW, SharedPlan, WavePlans, proposal_lines, wave_lines
from bot.surfaces.slack.blocks import (
    FEW_ENDS,
    asked_by,
    bold,
    button,
    line,
    listing,
    row,
    slack_user,
    text,
    with_people,
)
from bot.surfaces.slack.dialog import MOST_BLOCKS, PIECE, reason_dialog
from bot.surfaces.slack.message import (
    ALL_BLOCKS,
    TEXT,
    Block,
    Message,
    clipped,
    escaped,
    footnote,
    footnotes,
    header,
    length,
    paragraph,
    paragraphs,
    preformatted,
)
from bot.surfaces.slack.newer_blocks import CELL, table_block
from bot.surfaces.view.standing import APPROVE, DECLINE

STOP, RESUME = "wave-stop", "wave-resume"
_TITLES = {STOP: ("Stop the wave", "Stop it"), RESUME: ("Resume the wave", "Resume it")}
SAID = 400
MOST_LINES = 16  # of a card; the terminal shows all
NAMES = 2_500  # characters of node names in a paragraph of a dialog
MOST_PLAN_BLOCKS = 20  # on a card, which may have 50 blocks
ROOM_BESIDE = 1_000  # characters of a card's blocks for its last lines
MOST_IN_DIALOG = 150_000  # characters of its blocks; Slack takes views of 250 kB
IN_FILE = "Each node's address and boot, what ends there, and every plan: in the file in this card's thread."


def checking_card(causes: Iterable[str], nodes: int, by: str) -> Message:
    """Say that the nodes are being checked, before there is a wave."""
    count = f"{nodes:,} {'node is' if nodes == 1 else 'nodes are'}"
    words = f"{count} being checked for {', '.join(causes)}; then the wave is proposed here."
    blocks = (header("A wave is being prepared"), paragraph(words), *asked_by(by))
    return Message(clipped(escaped(words), TEXT), blocks)


def no_wave_card(because: str, by: str) -> Message:
    """Say why there is no wave."""
    words = clipped(one_line(because, SAID), SAID)
    return Message(clipped(escaped(f"No wave. {words}"), TEXT), (header("No wave"), paragraph(words), *asked_by(by)))


def wave_card(wave: Wave, plans: WavePlans | None = None) -> Message:
    """Show the state of a wave, with the remaining buttons, and with `plans` what a yes does on its nodes."""
    causes, count = ", ".join(wave.proposal.causes), len(wave.proposal.members)
    title = f"Wave: {causes}, {count:,} {'node' if count == 1 else 'nodes'}, {wave.state}"
    proposed = wave.state is WaveState.PROPOSED
    _, *lines = (proposal_lines if proposed else wave_lines)(wave)  # the title says the first line
    if plans is not None:
        lines[:0] = [_does(plans), *_ends(plans, FEW_ENDS)]
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
    if plans is not None:
        beside = plans_on_card(plans, ALL_BLOCKS - ROOM_BESIDE - sum(map(length, blocks)))
        at = 2 + bool(closing)
        blocks = (*blocks[:at], *(beside or [footnote(IN_FILE)]), *blocks[at:])
    return Message(clipped(escaped(f"{title}. {closing}".strip()), TEXT), blocks)


def plans_on_card(plans: WavePlans, room: int) -> list[Block]:
    """Return every plan and the table of nodes; nothing where the card has no room for all of it."""
    rows = list(plans.rows())
    blocks = [block for plan in plans.shared for block in _plan(plans, plan)]
    table, shown = table_block("Each node", ROW, rows, ALL_BLOCKS)
    blocks.append(table)
    if any(len(cell) > CELL for row in rows for cell in row):
        blocks.append(footnote(IN_FILE))
    is_whole = shown == len(rows) and len(blocks) <= MOST_PLAN_BLOCKS and sum(map(length, blocks)) <= room
    return blocks if is_whole and not plans.missing else []


def plans_in_dialog(plans: WavePlans, command: str, beside: int = 0) -> list[Block]:
    """Return every plan with every command, and the table of nodes, or where it stands if it does not fit.

    Shape: `beside` is how many other blocks the dialog has.
    Raises: CannotTell where the dialog has no room for every command, or a plan cannot be shown.
    """
    if plans.missing:
        raise CannotTell(NOT_SHOWN.format(node=one_line(", ".join(plans.missing), 200)), command)
    blocks = [block for plan in plans.shared for block in _plan(plans, plan)]
    blocks.append(footnote("Each node is read again first; a node that is not as shown here is left alone."))
    most = MOST_BLOCKS - 1 - beside
    if len(blocks) > most or sum(map(length, blocks)) > MOST_IN_DIALOG:
        raise CannotTell("The plans are too long for a dialog to show them whole.", command)
    rows = list(_pieces("  ".join(cell for cell in row if cell) for row in (ROW, *plans.rows())))
    has_room = len(blocks) + len(rows) <= most and sum(map(length, [*blocks, *rows])) <= MOST_IN_DIALOG
    return [*blocks, *(rows if has_room else [footnote(IN_FILE)])]


def _plan(plans: WavePlans, plan: SharedPlan) -> Iterator[Block]:
    count, number = len(plan.nodes), plans.shared.index(plan) + 1
    nodes = f"{count:,} {'node' if count == 1 else 'nodes'}"
    yield line(bold(f"Plan {number} of {len(plans.shared)}, {nodes}: "), text(plan.words, 500))
    yield from _pieces(plan.commands)
    for sentence in plan.also:
        yield from paragraphs(sentence)
    lasting = f"Lasting fix: {plan.lasting_fix}" if plan.lasting_fix else ""
    yield from footnotes((plan.effect, *plan.notes, lasting))


def _pieces(lines: Iterable[str]) -> Iterator[Block]:
    """Yield lines as they are, none of them shortened; a line is only parted where it is longer than a block."""
    held: list[str] = []
    for each in lines:
        whole = safe(each).replace("\n", " ")
        for at in range(0, max(1, len(whole)), PIECE):
            piece = whole[at : at + PIECE]
            if held and sum(map(len, held)) + len(held) + len(piece) > PIECE:
                yield preformatted(held)
                held = []
            held.append(piece)
    if held:
        yield preformatted(held)


def wave_dialog(action: str, sealed: str, words: Sequence[str], objection: str = "") -> dict[str, Any]:
    """Return the dialog for a reason; it opens at its top, where the plans stand."""
    titles, read_first = _TITLES.get(action), action == RESUME
    return reason_dialog(action, sealed, (), words, objection, titles=titles, read_first=read_first)


def dialog_words(wave: Wave, action: str, plans: WavePlans | None, against: str = "") -> Iterator[str]:
    """Yield what the person who decides has to know beside the plans: every node, and in which order.

    Shape: `against` is what would stop it now: who resumes it forgives that, and every node that is not fixed.
    """
    if action == STOP:
        yield "No further node of the wave begins. What has begun is finished, and its proof is read."
        return
    if action == RESUME and wave.stop is not None:
        yield f"It stopped: {one_line(wave.stop.because, SAID)}"
        if against not in ("", wave.stop.because):
            yield f"It would stop now: {one_line(against, SAID)}"
        if wave.unfixed:
            yield from _listed("Acted on and not fixed: ", [turn.member.node for turn in wave.unfixed])
    members, proposal = wave.proposal.members, wave.proposal
    yield f"{wave.id}: {', '.join(proposal.causes)}. Stages: {' → '.join(map(str, proposal.stages))} cured."
    if plans is not None:
        yield from _listed("", _ends(plans, MOST_ENDS))
    yield from _listed(f"{len(members):,} nodes, in this order: ", [member.node for member in members])
    if plans is not None:
        yield _does(plans)
    yield f"A yes lasts {span(proposal.expires)}. Digest of the whole: {proposal.digest[:DIGEST]}"


def _does(plans: WavePlans) -> str:
    return f"What a yes does on each node, in its turn: {plans.does}"


def _ends(plans: WavePlans, most: int) -> Iterator[str]:
    yield from (f"Ends: {row}." for row in plans.ends(most))


def _listed(before: str, names: Iterable[str]) -> Iterator[str]:
    said = before
    for name in names:
        if len(said) + len(name) > NAMES:
            yield said
            said = ""
        said += f"{name} "
    if said:
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
