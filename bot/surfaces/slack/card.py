"""A check as Slack shows it: the card in the channel, and the details in its thread. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from bot.domain.safe_text import one_line, safe
from bot.domain.verdict import Status, Verdict
from bot.surfaces.slack.message import (
    ALL_BLOCKS,
    BLOCKS,
    TEXT,
    Block,
    Message,
    bullets,
    clipped,
    escaped,
    fitted,
    footnote,
    header,
    length,
    paged,
    paragraph,
    preformatted,
    titled,
)
from bot.surfaces.text import facts

SHOWN_EVIDENCE = 5
ROWS = 10  # nodes of a table in one block
LINE = 160
SAID = 500  # characters of one sentence on the card
PIECE = 1500  # characters of one preformatted block
INVITE = (
    "I may not write in this channel, so only you see this. "
    "/invite me and ask again to have it as a card, with its details."
)
_MARKS = {
    Status.HEALTHY: "🟢",
    Status.DEGRADED: "🟡",
    Status.CRITICAL: "🔴",
    Status.UNKNOWN: "⚪",
    Status.UNREACHABLE: "⚫",
}
_WORST_FIRST = (Status.CRITICAL, Status.DEGRADED, Status.UNKNOWN, Status.UNREACHABLE, Status.HEALTHY)


@dataclass(frozen=True, slots=True)
class Underway:
    """How far the reading of one node has come; `waiting` says why it has not begun."""

    node: str
    answered: int = 0
    asked: int = 0
    waiting: str = ""

    @property
    def words(self) -> str:
        """The state in a few words."""
        if self.waiting:
            return f"waiting: {self.waiting}"
        return f"reading… {self.answered} of {self.asked} probes" if self.asked else "reading…"


def card(
    underway: Sequence[Underway],
    verdicts: Sequence[Verdict],
    asked_by: str = "",
    incidents: Mapping[str, str] = MappingProxyType({}),
) -> Message:
    """Return the card of a check: of one node its verdict, of several a table with the worst first.

    `asked_by` is a Slack user id, `incidents` the ids under which the record has the nodes.
    """
    if not underway and len(verdicts) == 1:
        return verdict_card(verdicts[0], asked_by, incidents.get(verdicts[0].node, ""))
    if len(underway) == 1 and not verdicts:
        one = underway[0]
        words = f"{one.node}: {one.words}"
        blocks = [header(words), *_asked_by(asked_by)]
        return Message(escaped(words), tuple(blocks))
    return _table_card(underway, verdicts, asked_by)


def verdict_card(verdict: Verdict, asked_by: str = "", incident: str = "") -> Message:
    """Return the card of one verdict; its first words say it all on a locked phone, its thread has what has no room."""
    first = [header(f"{_MARKS[verdict.status]} {_headline(verdict)}")]
    first += [paragraph(clipped(said, SAID)) for said in (verdict.summary, verdict.try_next) if said.strip()]
    first += _remedy(verdict)
    # Their sentences only: the node's own lines stand in the thread, where nobody has to scroll past them.
    shown = [(one.probe, one_line(one.says, SAID)) for one in verdict.evidence[:SHOWN_EVIDENCE]]
    middle = [bullets(shown)] if shown else []
    last: list[Block] = []
    if verdict.unread:
        names = ", ".join(unread.probe for unread in verdict.unread)
        last.append(footnote(clipped(f"Not read: {names}. The reasons are in the thread.", SAID)))
    about = [f"read in {verdict.took.total_seconds():.1f} s", _named(incident), facts(verdict.snapshot)]
    last += [footnote(clipped(" · ".join(part for part in about if part), SAID)), *_asked_by(asked_by)]
    return Message(message_text(verdict), fitted(first, middle, last))


def message_text(verdict: Verdict) -> str:
    """Return the verdict as one escaped text: node, status, cause, confidence and remedy in the first words."""
    first = _headline(verdict)
    remedy = remedy_words(verdict)
    if remedy:
        first += f" → {remedy}"
    return clipped(escaped(f"{first}. {verdict.summary}"), TEXT)


def remedy_words(verdict: Verdict) -> str:
    """Return what the plan would do, in a few words.

    Example: "disable ecs.service, then reboot".
    """
    if verdict.plan is None:
        return ""
    words = {"disable_unit": "disable", "mask_unit": "mask"}
    return ", then ".join(
        " ".join([words.get(step.action, step.action), *step.args.values()]) for step in verdict.plan.steps
    )


def details(verdict: Verdict, incident: str = "") -> tuple[Message, ...]:
    """Return everything that the card leaves out, as messages for its thread."""
    blocks = [titled(" · ".join(part for part in (verdict.node, _named(incident)) if part)), *_details(verdict)]
    return tuple(
        Message(escaped(f"{verdict.node}: details" + (f" ({number})" if number > 1 else "")), page)
        for number, page in enumerate(paged(blocks), 1)
    )


def plain(message: Message) -> Message:
    """Return the message without blocks, for when Slack refuses them: all its words, as far as a text holds them.

    A fence keeps them words: in an edited text Slack would otherwise make bold what stands between asterisks.
    """
    said = [message.text, *(escaped(text) for block in message.blocks for text in _texts(block))]
    text = "\n".join(dict.fromkeys(said)).replace("```", "'''")
    return Message(f"```{clipped(text, TEXT)}```", broadcast=message.broadcast)


def invited(message: Message) -> Message:
    """Return the message for one person alone, where the bot may not write, with how to let it in."""
    blocks = (*message.blocks[: BLOCKS - 1], paragraph(INVITE)) if message.blocks else ()
    return Message(f"{clipped(message.text, TEXT)}\n{INVITE}", blocks)


def _texts(part: object) -> Iterator[str]:
    """Every text in a block, in its order."""
    if isinstance(part, Mapping):
        if isinstance(text := part.get("text"), str):
            yield text
        for inner in part.values():
            yield from _texts(inner)
    elif isinstance(part, list | tuple):
        for inner in part:
            yield from _texts(inner)


def _named(incident: str) -> str:
    return f"incident {incident}" if incident else ""


def _headline(verdict: Verdict) -> str:
    words = f"{verdict.node}: {verdict.status.value.upper()}"
    if verdict.cause is not None:
        words += f", {verdict.cause}" + (f" ({verdict.confidence.value})" if verdict.confidence is not None else "")
    return words


def _remedy(verdict: Verdict) -> Iterator[Block]:
    if verdict.plan is not None:
        yield titled("What would help (nothing is done by this card)")
        commands = [command for step in verdict.plan.steps for command in step.commands]
        yield preformatted([clipped(command, SAID) for command in commands[:5]])
        for note in verdict.plan.notes:
            yield paragraph(clipped(note, SAID))
    if verdict.lasting_fix and verdict.cause is not None:
        yield footnote(clipped(f"Lasting fix: {verdict.lasting_fix}", SAID))


def _details(verdict: Verdict) -> Iterator[Block]:
    yield from _pieces([("Summary", verdict.summary)])
    for one in verdict.evidence:
        yield from _pieces([(one.probe, one.says)])
        yield from _lines(one.source)
    for title, rows in (
        ("Ruled out", [(no.cause, no.because) for no in verdict.ruled_out]),
        ("Not read", [(unread.probe, unread.reason) for unread in verdict.unread]),
    ):
        if rows:
            yield titled(title)
            yield from _pieces(rows)
    if verdict.plan is not None:
        yield titled(f"Plan {verdict.plan.digest[:16]}")
        yield from _lines([command for step in verdict.plan.steps for command in step.commands])


def _pieces(rows: Sequence[tuple[str, str]]) -> Iterator[Block]:
    for word, sentence in rows:
        cut = [sentence[at : at + PIECE] for at in range(0, len(sentence), PIECE)] or [""]
        yield bullets([(clipped(word, LINE), cut[0])])
        for more in cut[1:]:
            yield bullets([("", more)])


def _lines(lines: Sequence[str]) -> Iterator[Block]:
    text = "\n".join(safe(line) for line in lines)
    for at in range(0, len(text), PIECE):
        yield preformatted(text[at : at + PIECE].split("\n"))


def _asked_by(user: str) -> Iterator[Block]:
    if user:
        section = {"type": "rich_text_section", "elements": [_text("Asked by "), {"type": "user", "user_id": user}]}
        yield {"type": "rich_text", "elements": [section]}


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _table_card(underway: Sequence[Underway], verdicts: Sequence[Verdict], asked_by: str) -> Message:
    """One line a node, worst first; what does not fit is counted, and stands in the thread in full."""
    ordered = sorted(verdicts, key=lambda verdict: _WORST_FIRST.index(verdict.status))
    counts: Mapping[Status, int] = {
        status: sum(1 for verdict in verdicts if verdict.status is status) for status in _WORST_FIRST
    }
    told = [f"{count} {status.value}" for status, count in counts.items() if count]
    if underway:
        told.append(f"{len(underway)} still reading")
    words = f"{len(underway) + len(verdicts)} nodes: " + ", ".join(told)
    rows = [f"{_MARKS[verdict.status]} {_headline(verdict)}" for verdict in ordered]
    rows += [f"… {one.node}: {one.words}" for one in underway]
    blocks: list[Block] = [header(words)]
    room, shown = ALL_BLOCKS - 500, 0
    for at in range(0, len(rows), ROWS):
        block = preformatted([clipped(row, LINE) for row in rows[at : at + ROWS]])
        room -= length(block)
        if room < 0:
            blocks.append(footnote(f"And {len(rows) - shown} more."))
            break
        blocks.append(block)
        shown += len(rows[at : at + ROWS])
    worst = "; ".join(_headline(verdict) for verdict in ordered[:3] if verdict.status is not Status.HEALTHY)
    return Message(clipped(escaped(f"{words}. {worst}".rstrip(". ")), TEXT), (*blocks, *_asked_by(asked_by)))
