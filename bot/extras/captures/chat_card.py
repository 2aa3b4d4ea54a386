"""The card of a rolling capture, its thread's reply for each symptom, and the list of captures. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.chat.document import (
    TEXT,
    Block,
    Button,
    ButtonRow,
    Document,
    Listing,
    Pieces,
    SmallPrint,
    Title,
    asked_by,
    clipped,
    line,
    plain_document,
    with_people,
)
from bot.domain.incident import IncidentSummary
from bot.domain.node import Node
from bot.domain.safe_text import one_line
from bot.extras.captures.capture_fold import RollingCapture, RollingState
from bot.extras.captures.capture_watch import CaptureLookResult
from bot.extras.captures.events import SymptomCaught
from bot.extras.captures.recorder_commands import RollingRequest, is_capture_id
from bot.extras.captures.words import caught_words, lines
from bot.extras.captures.words import line as standing
from bot.view.words import Bold, Code, Link, in_chat

PREFIX = "capture-"
SHOW, STOP = "capture-show", "capture-stop"
SAID = 500
MOST_SHOWN = 5  # of what was caught, and of what was not read; the terminal shows all
MOST_LISTED = 20


def card_name(capture: str) -> str:
    """Return the name of a capture's card."""
    return PREFIX + capture


def capture_of(name: str) -> str:
    """Return the id of the capture whose card has this name; empty for any other name."""
    capture = name.removeprefix(PREFIX)
    return capture if name.startswith(PREFIX) and is_capture_id(capture) else ""


def looking_card(node: Node, request: RollingRequest) -> Document:
    """Say that the node is being examined, before anything runs there."""
    words = f"Checking whether {node.name} can be recorded for {request.hours} h."
    return plain_document(words, SmallPrint(("The answer replaces this message.",)))


def not_recorded(node: str, because: str, by: str) -> Document:
    """Say why nothing is recorded."""
    words = clipped(f"{one_line(node, 80)} is not recorded: {one_line(because, SAID)}", TEXT)
    return Document(words, (line(*with_people(words, (by,), TEXT)), *asked_by(by)))


def capture_card(news: CaptureLookResult) -> Document:
    """Show the state of a capture, with the remaining buttons."""
    rolling = news.rolling
    node = one_line(rolling.node, 80)
    title = f"{_TITLES[rolling.state]} {node}"
    people = _people(rolling)
    lines_shown: list[Pieces] = [
        with_people(said.removeprefix("* "), people, SAID) for said in lines(news, MOST_SHOWN)[1:]
    ]
    # One clock on the card, the kernel log's: what is caught has its milliseconds.
    until = f"{rolling.until:%Y-%m-%d %H:%M} UTC" if rolling.until is not None and not rolling.is_over else ""
    first: Pieces = ()
    if until:
        words = "It ends by itself" if rolling.state is not RollingState.STOPPING else "It would have ended"
        first = (f"{words} {until}, even if this bot is gone by then.",)
    if rolling.state is RollingState.RUNNING and news.load_percent is None:
        lines_shown.insert(1, ("Its cost is measured by the first look, within a minute.",))
    if rolling.ended is not None:
        first = with_people(f"It is over: {one_line(rolling.ended.because, 300)}.", people, SAID)
    blocks = (
        Title(title),
        Listing((*([first] if first else []), *lines_shown)),
        *_buttons(rolling),
        SmallPrint((f"zombie capture show {rolling.id}",)),
    )
    found = rolling.found
    caught = f"{len(found)} caught; the last: {found[-1].sentence}" if found else ""
    when = f" until {until}" if until else ""
    said = f"Capture {rolling.id} {_VERBS[rolling.state]} {node}{when}. {one_line(caught, 1000)}"
    return Document(said.strip(), blocks)


def caught_reply(
    caught: SymptomCaught, incident: IncidentSummary | None, address: str, is_over: bool = True
) -> Document:
    """Say what was caught; `address` is its incident's card, empty without an incident."""
    words = f"{caught_words(caught, is_over)}."
    blocks: list[Block] = [line(Bold(words))]
    if incident is not None:
        cause = f" ({one_line(incident.cause, 60)}, {incident.state.value})" if incident.cause else ""
        name = f"incident {incident.id}"
        where = Link(name, address) if address else Code(f"zombie incidents show {incident.id}")
        blocks.append(line("It belongs to ", where, f"{cause}."))
    return Document(words, tuple(blocks))


def listed(captures: Sequence[RollingCapture]) -> str:
    """Return a line for each capture on record, the newest first."""
    if not captures:
        return "Nothing was captured. To begin: /zombie capture NODE 12h"
    newest = list(reversed(captures))
    more = [f"And {len(newest) - MOST_LISTED} more: zombie capture list"] if len(newest) > MOST_LISTED else []
    return "\n".join([*(f"• {standing(rolling)}" for rolling in newest[:MOST_LISTED]), *more])


_TITLES = {
    RollingState.STARTING: "Recording begins:",
    RollingState.RUNNING: "Recording",
    RollingState.STOPPING: "Recording stops:",
    RollingState.ENDED: "Recorded",
}
_VERBS = {
    RollingState.STARTING: "is being started on",
    RollingState.RUNNING: "records on",
    RollingState.STOPPING: "is being stopped on",
    RollingState.ENDED: "has ended on",
}


def _buttons(rolling: RollingCapture) -> Iterator[Block]:
    name = card_name(rolling.id)
    show, stop = Button("Show", SHOW, name), Button("Stop", STOP, name, "danger")
    if not rolling.is_over:
        yield ButtonRow((show,) if rolling.state is RollingState.STOPPING else (show, stop))


def _people(rolling: RollingCapture) -> frozenset[str]:
    """All people whom the card's sentences may name."""
    because = rolling.ended.because.partition(" ")[0] if rolling.ended is not None else ""
    return frozenset(by for by in (rolling.by, rolling.stopped_by, because) if in_chat(by))
