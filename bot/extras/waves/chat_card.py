"""The card of a wave, from the first checks to its end, and the contents of its dialogs. Pure functions.

A yes is never blind: the dialog holds every plan of the wave with every command, or there is no dialog. The table of
nodes stands there and on the card where it fits, else in a file in the card's thread; where the thread has no such
file, there is no dialog either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from bot.chat.blocks import FEW_ENDS, REVIEW
from bot.chat.dialog import reason_dialog
from bot.chat.document import (
    Block,
    Button,
    ButtonRow,
    Dialog,
    Document,
    Fits,
    Line,
    Lines,
    Listing,
    Paragraph,
    SmallPrint,
    Table,
    Title,
    asked_by,
    clipped,
    line,
    small,
    with_people,
)
from bot.domain.duration import span_words
from bot.domain.errors import CannotTell
from bot.domain.safe_text import counted, one_line, safe
from bot.extras.waves.wave import Wave, WaveState
from bot.extras.waves.words import DIGEST, MOST_ENDS, NOT_SHOWN, ROW, SharedPlan, WavePlans, proposal_lines, wave_lines
from bot.view.standing import APPROVE, DECLINE
from bot.view.words import Bold, in_chat

STOP, RESUME = "wave-stop", "wave-resume"
TITLES = {STOP: ("Stop the wave", "Stop it"), RESUME: ("Resume the wave", "Resume it")}
SAID = 400
MOST_LINES = 16  # of a card; the terminal shows all
NAMES = 2_500  # characters of node names in a paragraph of a dialog
MOST_PLAN_BLOCKS = 20  # on a card, which may have 50 blocks
CELL = 120  # characters of a cell; a card shortens longer ones
READ_AGAIN = SmallPrint(("Each node is read again first; a node that is not as shown here is left alone.",))
IN_FILE = SmallPrint(("Each node's address and boot, what ends there, and every plan: in this card's thread.",))


def checking_card(causes: Iterable[str], nodes: int, by: str) -> Document:
    """Say that the nodes are being checked, before there is a wave."""
    being = f"{counted(nodes, 'node is', 'nodes are')} being checked"
    words = f"{being} for {', '.join(causes)}; then the wave is proposed here."
    return Document(words, (Title("A wave is being prepared"), Paragraph(words), *asked_by(by)))


def no_wave_card(because: str, by: str) -> Document:
    """Say why there is no wave."""
    words = clipped(one_line(because, SAID), SAID)
    return Document(f"No wave. {words}", (Title("No wave"), Paragraph(words), *asked_by(by)))


def wave_card(wave: Wave, plans: WavePlans | None, fits: Fits) -> Document:
    """Show the state of a wave, with the remaining buttons, and with `plans` what a yes does on its nodes."""
    nodes, causes = counted(len(wave.proposal.members), "node"), ", ".join(wave.proposal.causes)
    title = f"Wave: {causes}, {nodes}, {wave.state}"
    proposed = wave.state is WaveState.PROPOSED
    _, *lines = (proposal_lines if proposed else wave_lines)(wave)  # the title says the first line
    if plans is not None:
        lines[:0] = [_effect_words(plans), *_ended_rows(plans, FEW_ENDS)]
    closing = lines.pop() if wave.ending is not None else ""
    shown = [said.strip() for said in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append(f"More: zombie wave {wave.id}")
    first: Sequence[Block] = (
        Title(title),
        *([Line(with_people(closing, _people(wave), SAID))] if closing else []),
        Listing(tuple(with_people(said, _people(wave), SAID) for said in shown)),
    )
    last: Sequence[Block] = (*_buttons(wave), SmallPrint((f"zombie wave {wave.id}",)), *asked_by(wave.asked_by))
    beside = list(plans_on_card(plans, lambda blocks: fits([*first, *blocks, *last]))) if plans is not None else []
    return Document(f"{title}. {closing}".strip(), (*first, *beside, *last))


def plans_on_card(plans: WavePlans, fits: Fits) -> list[Block]:
    """Return every plan and the table of nodes; where they are, if the card has no room for all of it."""
    rows = list(plans.rows())
    blocks = [block for plan in plans.shared for block in _plan_blocks(plans, plan)]
    blocks.append(Table(ROW, rows, "Each node"))
    if any(len(cell) > CELL for row in rows for cell in row):
        blocks.append(IN_FILE)
    return blocks if not plans.missing and len(blocks) <= MOST_PLAN_BLOCKS and fits(blocks) else [IN_FILE]


def wave_dialog(
    wave: Wave,
    action: str,
    plans: WavePlans | None,
    fits: Fits,
    objection: str = "",
    against: Sequence[str] = (),
    has_file: bool = False,
) -> Dialog:
    """Return the dialog for a decision, measured whole, as it is sent.

    Shape: `objection` is what would refuse it now, `against` what else would stop the wave now. `has_file`: the file
    with the plans stands in the card's thread.
    Raises: CannotTell where it has no room for all of it.
    """
    verb = {APPROVE: "approve", RESUME: "resume"}.get(action, "stop")
    words, command = tuple(dialog_words(wave, action, plans, against)), f"zombie wave {verb} {wave.id}"
    dialog = reason_dialog(action, (), words, objection, titles=TITLES.get(action), read_first=action == RESUME)
    if action == APPROVE and plans is not None:
        more = plans_in_dialog(plans, command, lambda blocks: fits([*dialog.blocks, *blocks]), has_file)
        return replace(dialog, blocks=(*dialog.blocks, *more))
    if not fits(dialog.blocks):
        raise CannotTell("What has to be read first is too long for a dialog.", command)
    return dialog


def plans_in_dialog(plans: WavePlans, command: str, fits: Fits, has_file: bool) -> list[Block]:
    """Return every plan with every command, and the table of nodes, or that the file has it if it does not fit.

    Raises: CannotTell where the dialog has no room for that, or a plan cannot be shown.
    """
    if plans.missing:
        raise CannotTell(NOT_SHOWN.format(node=one_line(", ".join(plans.missing), 200)), command)
    blocks = [*(block for plan in plans.shared for block in _plan_blocks(plans, plan)), READ_AGAIN]
    rows = Lines(tuple("  ".join(cell for cell in row if cell) for row in (ROW, *plans.rows())))
    for each_node in (rows, IN_FILE) if has_file else (rows,):
        if fits([*blocks, each_node]):
            return [*blocks, each_node]
    lacks = "" if has_file else ", and this card's thread has no file of them"
    raise CannotTell(f"The plans are too long for a dialog to show them whole{lacks}.", command)


def _plan_blocks(plans: WavePlans, plan: SharedPlan) -> Iterator[Block]:
    nodes, number = counted(len(plan.nodes), "node"), plans.shared.index(plan) + 1
    yield line(Bold(f"Plan {number} of {len(plans.shared)}, {nodes}: "), clipped(plan.words, 500))
    yield Lines(plan.commands)
    for sentence in plan.also:
        yield Paragraph(sentence, whole=True)
    lasting = f"Lasting fix: {plan.lasting_fix}" if plan.lasting_fix else ""
    yield from small(plan.effect, *plan.notes, lasting)


def dialog_words(wave: Wave, action: str, plans: WavePlans | None, against: Sequence[str] = ()) -> Iterator[str]:
    """Yield what the person who decides has to know beside the plans: every node, and in which order.

    Shape: `against` is what else would stop it now: who resumes it forgives all of that, so nothing of it is cut off.
    """
    if action == STOP:
        yield "No further node of the wave begins. What has begun is finished, and its proof is read."
        return
    if action == RESUME and wave.stop is not None:
        yield from _name_pieces("It stopped: ", safe(wave.stop.because).split())
        for because in against:
            yield from _name_pieces("It would stop now: ", safe(because).split())
    members, proposal = wave.proposal.members, wave.proposal
    yield f"{wave.id}: {', '.join(proposal.causes)}. Stages: {' → '.join(map(str, proposal.stages))} cured."
    if plans is not None:
        yield from _name_pieces("", _ended_rows(plans, MOST_ENDS))
    yield from _name_pieces(f"{len(members):,} nodes, in this order: ", [member.node for member in members])
    if plans is not None:
        yield _effect_words(plans)
    yield f"A yes lasts {span_words(proposal.expires)}. Digest of the whole: {proposal.digest[:DIGEST]}"


def _effect_words(plans: WavePlans) -> str:
    return f"What a yes does on each node, in its turn: {plans.does}"


def _ended_rows(plans: WavePlans, most: int) -> Iterator[str]:
    yield from (f"Ends: {row}." for row in plans.ends(most))


def _name_pieces(before: str, names: Iterable[str]) -> Iterator[str]:
    said = before
    for name in names:
        if len(said) + len(name) > NAMES:
            yield said
            said = ""
        said += f"{name} "
    if said:
        yield said


def _buttons(wave: Wave) -> Iterator[Block]:
    elements: list[Button] = []
    match wave.state:
        case WaveState.PROPOSED:
            elements = [Button(REVIEW, APPROVE, wave.id, "primary"), Button("Decline", DECLINE, wave.id)]
        case WaveState.RUNNING:
            elements = [Button("Stop", STOP, wave.id, "danger")]
        case WaveState.STOPPED:
            elements = [Button("Resume", RESUME, wave.id)]
    if elements:
        yield ButtonRow(tuple(elements))


def _people(wave: Wave) -> frozenset[str]:
    """All people whom the card's sentences may name."""
    everybody = (wave.asked_by, wave.stopped_by, *(approval.by for approval in wave.approvals))
    return frozenset(by for by in everybody if in_chat(by))
