"""Keeps the thread of a card as the record has it: each yes, what came of each node, and its report as a file."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain.contracts import ActingLedger, Outbox
from bot.domain.incident import Incident
from bot.domain.post import CardRecord
from bot.surfaces.slack.parts import CARD, MessageTarget
from bot.surfaces.slack.poster import Poster
from bot.surfaces.slack.report_file import REPORT
from bot.surfaces.slack.thread import Reply, approval_replies, details_part, replies
from bot.surfaces.slack.thread_files import FileRequest
from bot.surfaces.view.plan_words import PlanWords


class ThreadReplies:
    """Says each thing once, also after a restart."""

    def __init__(self, poster: Poster, outbox: Outbox, ledger: ActingLedger, words: PlanWords) -> None:
        self._poster = poster
        self._outbox = outbox
        self._ledger = ledger
        self._words = words
        self._said: dict[str, set[str]] = {}  # for each card, what this run has seen to

    async def show(
        self, name: str, spot: MessageTarget, group: Sequence[Incident], read: CardRecord | None = None
    ) -> None:
        """Bring a card's thread up to date; `read` is its card as it was just read, if it was.

        Raises: LedgerError when the record cannot be asked.
        """
        said = self._said.setdefault(name, set())
        for approval in approval_replies(group):
            if approval.part in said:
                continue
            read = read or await self._ledger.card(name, CARD)
            if approval.part not in read.posts.places:
                message = approval.message(read.head.noted)
                await self._poster.enqueue(name, approval.part, spot, message, under=CARD)
            said.add(approval.part)
        for incident in group:
            if incident.ended and incident.steps:  # for others the report comes on request
                await self._poster.attach(name, spot, FileRequest(REPORT, incident.id))
            for reply in replies(incident, self._words, of_several=len(group) > 1):
                if reply.part in said:
                    continue
                read = read or await self._ledger.card(name, CARD)
                if reply.part not in read.posts.places:
                    await self._say(name, spot, incident.id, reply)
                said.add(reply.part)

    def forget(self, name: str) -> None:
        """Forget what was said on a card; the outbox still knows."""
        self._said.pop(name, None)

    async def _say(self, name: str, spot: MessageTarget, incident: str, reply: Reply) -> None:
        """Fold it into the node's details where it can be, else post it as a reply of its own."""
        details = details_part(incident)
        stands = await self._outbox.standing(name, details) if reply.fold else None
        merged = reply.folded_into(stands) if stands is not None else None
        if merged is None:
            await self._poster.enqueue(name, reply.part, spot, reply.message, under=CARD)
        elif stands is not None and list(merged.blocks) != stands.get("blocks"):
            await self._poster.enqueue(name, details, spot, merged, under=CARD)
