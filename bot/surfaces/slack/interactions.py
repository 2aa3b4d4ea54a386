"""Clicks and dialogs, each handled once, in the background: also after a restart and beside other replicas.

A submission is on disk before it is acknowledged, so a crash right after loses nothing: the next run goes on with it.
A click decides nothing, and is only noted.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from bot.domain.errors import CannotTell, LedgerError
from bot.domain.safe_text import one_line
from bot.surfaces.remembered import Remembered
from bot.surfaces.slack.background import Background
from bot.surfaces.slack.block_actions import BlockActions
from bot.surfaces.slack.capture_decisions import CaptureDecisions
from bot.surfaces.slack.context import SlackContext
from bot.surfaces.slack.ephemeral import refusal_words
from bot.surfaces.slack.fleet_cards import FleetCards
from bot.surfaces.slack.kept_checks import KeptChecks
from bot.surfaces.slack.listeners import AppHome, Click, Submission, kept_submission
from bot.surfaces.slack.message import Block
from bot.surfaces.slack.view_submissions import ViewSubmissions
from bot.surfaces.slack.wave_decisions import WaveDecisions
from bot.surfaces.slack.wave_plans import WavePlans

REMEMBERED = 2000
KEEP_SECONDS = 2.0  # Slack waits three seconds for an acknowledgement
NOT_KEPT = CannotTell("The ledger cannot be written now, so nothing was decided.", "Try again.")


class InteractionHandler:
    """Takes clicks and dialogs."""

    def __init__(
        self,
        context: SlackContext,
        home: AppHome,
        background: Background,
        fleet: FleetCards | None = None,
        captures: CaptureDecisions | None = None,
    ) -> None:
        self._context = context
        checks = KeptChecks(context, background)
        self._takes = [part for part in (fleet, captures, context.profiles, checks) if part is not None]
        self._chat_requests = context.chat_requests
        self._background = background
        waves = WaveDecisions(context, fleet.waves) if fleet is not None and fleet.waves is not None else None
        plans = WavePlans(context, fleet) if fleet is not None and fleet.waves is not None else None
        others = [part for part in (waves, captures) if part is not None]
        self._block_actions = BlockActions(context, fleet, others, plans)
        self._view_submissions = ViewSubmissions(context, home, others, plans)
        self._seen: Remembered[str, None] = Remembered(REMEMBERED)
        self._submitting: dict[str, asyncio.Task[Mapping[str, str]]] = {}

    def clicked(self, click: Click) -> None:
        """Begin to handle a click; returns at once. A second delivery of it is ignored."""
        if self._is_new(click.key):
            self._background.begin(self._click(click), f"click {one_line(click.action, 40)}")

    async def suggested(self, body: Mapping[str, Any]) -> Sequence[Block]:
        """Return the options of a menu in which a person types a node's name."""
        suggestions = self._context.suggestions
        return await suggestions.answer(body) if suggestions is not None else ()

    async def submitted(self, submission: Submission) -> Mapping[str, str]:
        """Store a dialog and begin to handle it; return the errors that it shows instead of closing, by block."""
        taking = self._submitting.get(submission.key)
        if taking is None:  # a second delivery waits for the outcome of the first
            taking = asyncio.create_task(self._submit(submission), name="keep a submission")
            self._submitting[submission.key] = taking
            taking.add_done_callback(lambda _: self._submitting.pop(submission.key, None))
        return await asyncio.shield(taking)

    async def carry_on(self) -> None:
        """Go on with submissions, sweeps and checks that an earlier run or another replica did not finish.

        Raises: LedgerError.
        """
        for kept in await self._chat_requests.left() if self._chat_requests is not None else ():
            if any(part.takes(kept) for part in self._takes):
                continue
            submission = kept_submission(kept.body)
            if submission is None:
                self._context.log("submission_unreadable", key=one_line(kept.key, 80))
                await self._done(kept.key)
            else:
                self._context.log("submission_carried_on", key=one_line(kept.key, 80))
                self._background.begin(self._decide(submission, again=True), "submission carried on")

    async def _click(self, click: Click) -> None:
        if self._chat_requests is not None:
            try:
                if not await self._chat_requests.keep(click.key):
                    return
            except LedgerError as error:  # everything it leads to needs the ledger, too
                self._context.log("ledger_unavailable", error=one_line(str(error)), action=one_line(click.action, 40))
        await self._block_actions.handle(click)
        await self._done(click.key)

    async def _submit(self, submission: Submission) -> Mapping[str, str]:
        errors, refusal = self._view_submissions.objection(submission)
        if refusal is not None:
            if self._is_new(submission.key):
                noted = self._context.note("decide", submission.person.by, refusal)
                self._background.begin(noted, "note of a refusal")
            return errors
        if submission.key in self._seen:
            return {}
        if self._chat_requests is not None:
            keeping = asyncio.ensure_future(self._chat_requests.keep(submission.key, submission.text))
            try:
                async with asyncio.timeout(KEEP_SECONDS):
                    is_first = await asyncio.shield(keeping)
            except (LedgerError, TimeoutError) as error:
                self._context.log("submission_not_kept", error=one_line(str(error) or repr(error)))
                self._background.begin(self._forget(keeping, submission.key), "submission that came too late")
                return {submission.block: refusal_words(NOT_KEPT)}
            if not is_first:
                return {}
        if self._is_new(submission.key):
            self._background.begin(self._decide(submission), "submission")
        return {}

    async def _decide(self, submission: Submission, *, again: bool = False) -> None:
        is_broken_off = False
        try:
            await self._view_submissions.handle(submission, again=again)
        except asyncio.CancelledError:
            is_broken_off = True  # the next run goes on with it
            raise
        finally:
            if not is_broken_off:
                await self._done(submission.key)

    async def _forget(self, keeping: asyncio.Future[bool], key: str) -> None:
        """Drop it: its sender was told that nothing was decided, so no later run may go on with it."""
        with contextlib.suppress(LedgerError):
            if await keeping:
                await self._done(key)

    async def _done(self, key: str) -> None:
        if self._chat_requests is not None:
            with contextlib.suppress(LedgerError):
                await self._chat_requests.done(key)

    def _is_new(self, key: str) -> bool:
        if key in self._seen:
            return False
        self._seen[key] = None
        return True
