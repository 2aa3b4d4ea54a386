"""Answers commands about incidents and the brake, with the same checks as for clicks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from bot.domain.errors import Refused, UnknownIncident
from bot.domain.incident import IncidentSummary
from bot.domain.policy import Approval
from bot.domain.safe_text import one_line
from bot.response.decision.braking import said
from bot.response.decision.guards import is_named
from bot.surfaces.slack.context import TOLD, SlackContext, brake_words
from bot.surfaces.slack.ephemeral import refusal_words
from bot.surfaces.slack.people import Person
from bot.surfaces.slack.requests import CommandRequest, Question, Subcommand
from bot.surfaces.view.words import node_words, urgency, utc

MOST_LISTED = 30


class Subscription(Protocol):
    """PagerDuty's webhook subscription, which can be enabled again."""

    async def enable(self) -> str:
        """Enable it, and return the outcome as a sentence."""
        ...


@dataclass(slots=True, eq=False)
class CommandReplies:
    """Does what a subcommand asks for, and answers in private.

    Shape: `pagerduty` is None where the bot does not talk to PagerDuty.
    """

    context: SlackContext
    pagerduty: Subscription | None = None

    async def reply(self, request: CommandRequest, asked: Subcommand | Question) -> None:
        """Do what was asked, and answer the person in private."""
        person = request.person
        about = asked.about if isinstance(asked, Question) else asked.incident
        try:
            if isinstance(asked, Subcommand):
                words = await self._words(request, person, asked)
            else:
                words = await asked.answer(person)
        except (_OnRecord, UnknownIncident) as no:
            words = refusal_words(no.refusal if isinstance(no, _OnRecord) else no)
        except TOLD as no:
            await self.context.tell(no, asked.verb, person, request.channel, request.thread_ts, about)
            return
        await self.context.ephemeral.tell(request.by, request.channel, request.thread_ts, words, request.answer_at)

    async def refuse(self, request: CommandRequest, action: str, no: Refused) -> None:
        """Tell a person in private why their request is refused, and record that."""
        await self.context.note(action, request.by, no)
        words = refusal_words(no)
        await self.context.ephemeral.tell(request.by, request.channel, request.thread_ts, words, request.answer_at)

    async def _words(self, request: CommandRequest, person: Person, asked: Subcommand) -> str:
        if asked.verb == "status":
            await self.context.check_reader(person)
            return await self._status()
        if asked.verb == "brake" and asked.on:
            return await self.context.pull(person, asked.reason, request.key)
        approval = await self.context.people.approval(
            person, self.context.policy, asked.reason, by_group=asked.verb in ("brake", "pagerduty")
        )
        if asked.verb == "pagerduty":
            return await self._pagerduty(approval)
        try:
            if asked.verb == "brake":
                return brake_words(
                    await self.context.responder.brake(False, approval, pull=asked.pull, asked_at=request.asked_at)
                )
            if asked.verb == "cancel":
                await self.context.responder.cancel(asked.incident, approval)
                self.context.notices.decided(asked.incident)
                return f"Incident {asked.incident} is cancelled."
            opened = await self.context.responder.undo(asked.incident, approval)
        except Refused as no:
            raise _OnRecord(no) from no
        self.context.notices.decided(opened.id)
        return f"Proposed as incident {opened.id}; another person has to approve it."

    async def _pagerduty(self, approval: Approval) -> str:
        is_named(self.context.policy, approval)
        if self.pagerduty is None:
            return "The bot does not talk to PagerDuty: PAGERDUTY_API_TOKEN is not set."
        self.context.log("subscription_wanted", by=approval.by)
        return one_line(await self.pagerduty.enable(), 500)

    async def _status(self) -> str:
        summaries = await self.context.ledger.incidents(only_open=True)
        braked = await self.context.ledger.braked()
        words = [f"{len(summaries)} open incidents." if summaries else "Nothing is open."]
        ordered = sorted(summaries, key=_urgency)
        words += [status_line(summary) for summary in ordered[:MOST_LISTED]]
        if len(ordered) > MOST_LISTED:
            words.append(f"And {len(ordered) - MOST_LISTED} more: zombie incidents")
        if braked is not None:
            words.append(f"The brake is on: {said(braked)} (pull #{braked.seq})")
        else:
            words.append("The brake is off.")
        return "\n".join(words)


def status_line(summary: IncidentSummary) -> str:
    """Return an incident as a line of a list."""
    cause = f", {summary.cause}" if summary.cause else ""
    return f"• {node_words(summary.node)}: {summary.state.value}{cause} — {summary.id}, since {utc(summary.opened_at)}"


def _urgency(summary: IncidentSummary) -> tuple[int, str]:
    return urgency(summary.state), summary.node


class _OnRecord(Exception):
    """A refusal by the responder, which is on record already."""

    def __init__(self, refusal: Refused) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal
