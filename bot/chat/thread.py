"""What stands in the thread of a card: a verdict's details, each yes, and what the card itself has no room for.

A thread is short: a single reply shows the evidence, with everything else folded below it. A yes is a reply
of its own, which is never edited. What came of it stands on the card, and in the report; whoever said yes is called
where it comes to nothing, or a question stops it, for nobody hears of an edit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from bot.chat.blocks import SUMMARY, step_blocks
from bot.chat.document import (
    Block,
    CoreLoadStrip,
    Document,
    Fits,
    Paragraph,
    Record,
    SmallPrint,
    bullets,
    clipped,
    folded,
    line,
    paged,
)
from bot.chat.post_state import CARD, MessageTarget
from bot.chat.poster import Poster
from bot.chat.remembered import BoundedDict
from bot.chat.thread_files import REPORT, FileRequest
from bot.domain.incident import Decision, Incident, Result
from bot.domain.post import CardRecord
from bot.domain.safe_text import listed, one_line, safe
from bot.domain.transitions import State
from bot.domain.verdict import Verdict
from bot.ledger import Ledger, Outbox
from bot.view.before_after import MOST_CHANGES, changes
from bot.view.context import ViewContext
from bot.view.plan_words import BY_NAME, PlanWords
from bot.view.view import IncidentView, incident_view
from bot.view.words import Bold, Person, Sentence, joined, open_points, plain, rights_hint

SAID = 300
PIECE = 1500  # characters of a preformatted block
WORD = 160
NAMED = 10  # nodes of a yes that are named
REMEMBERED = 2000  # cards; of others the outbox knows what was said
MOST_WHY, WHY = 3, 600  # sentences, and characters of each
TOGETHER = timedelta(seconds=10)  # between the entries of the same yes to several nodes


@dataclass(frozen=True, slots=True)
class Reply:
    """A message for a card's thread, with the name under which it is stored: it is never posted twice.

    Shape: `fold` says the same as blocks that may stand below a node's details instead.
    """

    part: str
    message: Document
    fold: tuple[Block, ...] = ()


def details_part(incident: str, number: int = 1) -> str:
    """Return the name under which a page of an incident's details is kept."""
    return f"details-{incident}-{number}"


def details(
    verdict: Verdict, incident: str, fits: Fits, why: Sequence[str] = (), *, of_several: bool = False
) -> tuple[Reply, ...]:
    """Return everything that the card leaves out, for its thread: a single reply, if it fits a message.

    Shape: `of_several`: the card is a table of nodes, without room for summaries and the heat of cores.
    `why` are sentences that say what would have changed the verdict, where they are known by now.
    """
    title = f"{verdict.node} · zombie incidents show {incident}" if incident else verdict.node
    blocks = [line(Bold(title)), *_details(verdict, of_several, _why_blocks(incident, why))]
    return tuple(
        Reply(
            details_part(incident, number),
            Document(f"{verdict.node}: details" + (f" ({number})" if number > 1 else ""), page),
        )
        for number, page in enumerate(paged(blocks, fits), 1)
    )


def replies(incident: Incident, words: PlanWords = BY_NAME, *, of_several: bool = False) -> Iterator[Reply]:
    """Yield the replies in the thread of an incident that has ended, or asks a question.

    Shape: `of_several`: the card is a table of nodes; a single node's card shows before and after itself.
    """
    view = incident_view(incident, ViewContext(words=words))
    changed = changes(view.compared)
    if len(changed) > (0 if of_several else MOST_CHANGES):
        said = "\n".join(f"{name}: {value}" for name, value in changed)
        text = f"{view.node} before and after. {plain(view.story)} {one_line(said, 3000)}"
        below = tuple(folded("Before and after", said))
        yield Reply(f"after-{view.id}", Document(text, (line(Bold(view.node)), *below)), below)
    if view.escalated is not None and incident.had_its_try:
        yield Reply(f"escalated-{view.id}", _not_fixed_document(view, incident.result))
    elif incident.approval is not None and incident.state is State.UNKNOWN and incident.asked_at is not None:
        yield Reply(f"asked-{view.id}-{incident.asked_at:%Y%m%d%H%M%S}", _approvers_document(incident, view))
    elif (
        incident.approval is not None and incident.ended and not (incident.had_its_try or view.state is State.RESOLVED)
    ):
        yield Reply(f"unbegun-{view.id}", _approvers_document(incident, view))


@dataclass(frozen=True, slots=True)
class ApprovalReply:
    """A person's yes to some nodes of a card, with the name under which its reply is stored."""

    part: str
    by: str
    nodes: tuple[str, ...]

    def message(self, head: str) -> Document:
        """Return the reply. It carries the record's head, so that earlier entries cannot be rewritten unnoticed."""
        named = listed([one_line(node, WORD) for node in self.nodes], NAMED)
        said: Sentence = (Person(self.by), f" said yes to {named}.")
        return Document((*said, f" record {head}"), (line(*said), Record(head)))


def approval_replies(group: Sequence[Incident], said: Collection[str]) -> tuple[ApprovalReply, ...]:
    """Return every yes to a card's incidents that is not told yet, the oldest first; a dialog may cover several nodes.

    Shape: `said` are the parts that were posted. A reply is named after its last yes, and tells those before it too, so
    the names alone say which yeses were told: one that is recorded a moment later gets another reply.
    """
    found: list[ApprovalReply] = []
    last: Decision | None = None
    decided = [(each.at, incident.id, n, each, incident.node) for incident in group for n, each in _approvals(incident)]
    for at, incident_id, number, decision, node in sorted(decided, key=lambda each: each[:3]):
        is_same = last is not None and last.by == decision.by and at - last.at <= TOGETHER
        earlier = found.pop().nodes if is_same else ()
        part = f"yes-{number}-{incident_id}"
        found.append(ApprovalReply(part, decision.by, () if part in said else (*earlier, node)))
        last = decision
    return tuple(reply for reply in found if reply.nodes)


def _approvals(incident: Incident) -> Iterator[tuple[int, Decision]]:
    last = (incident.approval,) if incident.approval is not None else ()
    return enumerate((*incident.endorsements, *last), 1)


def _why_blocks(incident: str, why: Sequence[str]) -> Iterator[Block]:
    """What would have changed the verdict; the sentences that are too much for it are counted."""
    if why:
        said = [clipped(f"• {words}", WHY) for words in why[:MOST_WHY]]
        more = f"{len(why) - len(said)} more" if len(why) > len(said) else "Again"
        last = f"Each was proven by a replay. {more}: zombie why {incident}"
        yield from folded("What would have changed this verdict", "\n".join((*said, last)))


def _details(verdict: Verdict, of_several: bool, why: Iterator[Block]) -> Iterator[Block]:
    """The evidence open, everything else folded, so that nobody scrolls past what was ruled out."""
    if of_several:
        yield Paragraph(verdict.summary)
    if of_several and verdict.heat is not None:
        yield CoreLoadStrip(verdict.heat)
    yield from _list_block([(item.probe, item.says) for item in verdict.evidence])
    if hint := rights_hint(verdict.unread):
        yield SmallPrint((hint,))
    yield from folded("The whole sentence", verdict.summary) if len(verdict.summary) > SUMMARY else ()
    yield from why
    own = [(item.probe, item.source) for item in verdict.evidence] + [
        (each.name, each.lines) for each in verdict.unusual
    ]
    if said := [f"{name}:\n" + "\n".join(lines) for name, lines in own if lines]:
        yield from folded("The node's own lines", "\n\n".join(said))
    if verdict.plan is not None:
        lines = [command for step in verdict.plan.steps for command in step.commands]
        lines += [f"Lasting fix: {verdict.plan.lasting_fix}"] if verdict.plan.lasting_fix else []
        yield from folded(f"Commands of plan {verdict.plan.digest[:16]}", "\n".join(lines))
    for title, rows in open_points(verdict):
        yield from folded(f"{title} ({len(rows)})", "\n".join(f"{word}: {says}" for word, says in rows))


def _list_block(rows: Sequence[tuple[str, str]]) -> Iterator[Block]:
    """A list in a single block, if it is short enough."""
    together: list[tuple[str, str]] = []
    for word, sentence in rows:
        cut = [sentence[at : at + PIECE] for at in range(0, len(sentence), PIECE)] or [""]
        for number, piece in enumerate(cut):
            row = ("" if number else clipped(word, WORD), piece)
            if together and sum(len(said) for _, said in (*together, row)) > PIECE:
                yield bullets(together)
                together = []
            together.append(row)
    if together:
        yield bullets(together)


def _approvers_document(incident: Incident, view: IncidentView) -> Document:
    """What became of a plan, or what stops it, to those who said yes."""
    people = dict.fromkeys(approval.by for _, approval in _approvals(incident))
    called = [piece for by in people for piece in (Person(by), ", ")][:-1]
    said = (*called, f": {view.diagnosis}: ", *joined(view.sentences))
    return Document(said, (line(*said),), broadcast=view.escalated is not None)


def _not_fixed_document(view: IncidentView, result: Result | None) -> Document:
    """What was done, how the node stands, and what to try: also shown in the channel."""
    assert view.escalated is not None
    because, try_next = view.escalated.because, view.escalated.try_next
    words = f"{view.diagnosis}: {result}."
    blocks: list[Block] = [line(Bold(clipped(words, SAID))), Paragraph(clipped(safe(because), SAID * 2))]
    blocks += step_blocks(view.plan) if view.plan is not None else ()
    if try_next.strip():
        blocks.append(bullets([("What to try", one_line(try_next, SAID * 2))]))
    said = f"{words} {one_line(because, SAID)} {one_line(try_next, SAID)}".strip()
    return Document(said, tuple(blocks), broadcast=True)


@dataclass(eq=False)
class ThreadReplies:
    """Says each thing once, also after a restart."""

    _poster: Poster
    _outbox: Outbox
    _ledger: Ledger
    _words: PlanWords
    # For each card, what this run has seen to.
    _said: BoundedDict[str, set[str]] = field(default_factory=lambda: BoundedDict(REMEMBERED))

    async def show(
        self, name: str, spot: MessageTarget, group: Sequence[Incident], read: CardRecord | None = None
    ) -> None:
        """Bring a card's thread up to date; `read` is its card as it was just read, if it was.

        Raises: LedgerError when the record cannot be asked.
        """
        said = self._said[name] = self._said.get(name, set())
        if approval_replies(group, said):
            read = read or await self._ledger.card(name, CARD)
            said.update(read.posts.places)
            for approval in approval_replies(group, said):
                await self._poster.enqueue(name, approval.part, spot, approval.message(read.head.noted), under=CARD)
                said.add(approval.part)
        for incident in group:
            if not (incident.ended or incident.state is State.UNKNOWN):
                continue
            if incident.ended and incident.steps:  # for others the report comes on request
                await self._poster.attach(name, spot, FileRequest(REPORT, incident.id))
            for reply in replies(incident, self._words, of_several=len(group) > 1):
                if reply.part in said:
                    continue
                read = read or await self._ledger.card(name, CARD)
                if reply.part not in read.posts.places:
                    await self._post_or_merge_reply(name, spot, incident.id, reply)
                said.add(reply.part)

    async def _post_or_merge_reply(self, name: str, spot: MessageTarget, incident: str, reply: Reply) -> None:
        """Fold it into the node's details where it can be, else post it as a reply of its own."""
        details = details_part(incident)
        stands = (await self._outbox.card(name, details)).standing if reply.fold else None
        merged = self._poster.chat.added(stands, reply.fold) if stands is not None else None
        if merged is None:
            await self._poster.enqueue(name, reply.part, spot, reply.message, under=CARD)
        elif stands is not None and list(merged.blocks) != stands.get("blocks"):
            await self._poster.enqueue(name, details, spot, merged, under=CARD)
