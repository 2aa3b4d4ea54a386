"""Holes of a chat's own way, each put into the program: the schedules of a chat have to find every one of them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from bot.chat.cards import ChatCards
from bot.chat.clicks import Submission
from bot.chat.decisions import Decisions
from bot.chat.dialog import Intent, MetadataSigner
from bot.chat.remembered import RecentDeliveries
from bot.chat.service import Delivered
from bot.ledger.chat_requests import ChatRequestStore
from bot.ledger.database import on_thread
from bot.surfaces.slack.connection import SignedHttp
from bot.surfaces.teams.activities import Spoken
from bot.surfaces.teams.calls import TeamsCalls
from bot.surfaces.teams.keys import SigningKeys
from tests.schedules.mutations import Mutation

CONNECTION = import_module("bot.surfaces.teams.connection")


def token_not_proved(patch: pytest.MonkeyPatch) -> None:
    async def activity(self: SigningKeys, header: str, body: bytes) -> Any:
        return json.loads(body)

    patch.setattr(SigningKeys, "activity", activity)


def dialog_not_proved(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MetadataSigner, "verify", lambda self, text: Intent(**json.loads(text[64:])))


def anybodys_dialog(patch: pytest.MonkeyPatch) -> None:
    def proven(self: Decisions, submission: Submission) -> Intent | None:
        return self._context.signer.verify(submission.metadata)

    patch.setattr(Decisions, "_proven_intent", proven)


def edits_not_awaited(patch: pytest.MonkeyPatch) -> None:
    whole = TeamsCalls.edit

    async def edit(self: TeamsCalls, place: Any, message: Any) -> Any:
        asyncio.create_task(whole(self, place, message))  # noqa: RUF006 - the hole itself
        return Delivered(place)

    patch.setattr(TeamsCalls, "edit", edit)


def click_handled_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CONNECTION, "AGAIN_SECONDS", 0.0)


def dialog_handled_again(patch: pytest.MonkeyPatch) -> None:
    whole = Spoken.submission
    patch.setattr(Spoken, "submission", lambda self: replace(whole(self), key=f"sent-{self.id}"))


def copy_counts(patch: pytest.MonkeyPatch) -> None:
    async def check_click(self: ChatCards, *_: Any) -> None:
        """Nothing is compared."""

    patch.setattr(ChatCards, "check_click", check_click)


def signature_not_proved(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SignedHttp, "_is_signed", lambda self, *_: True)


def delivery_not_known(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ChatRequestStore, "keep", on_thread(lambda self, key, body="", *, done=False: True))


def dropped_yes_on_record(patch: pytest.MonkeyPatch) -> None:
    whole = Spoken.submission

    def the_same(self: Spoken) -> Submission:
        """As if the dialog that asks anew were the one before."""
        sent = whole(self)
        return replace(sent, key=f"sent-{sent.person.user} {sent.metadata} {sent.reason}")

    patch.setattr(Spoken, "submission", the_same)
    patch.setattr(
        RecentDeliveries, "__contains__", lambda self, key: not key.startswith("sent-") and dict.__contains__(self, key)
    )


IN_EVERY_CHAT = (
    Mutation("dialog not proved", dialog_not_proved, "“changed"),
    Mutation("dialog of another person", anybodys_dialog, "“of another person"),
    Mutation("click on a copy", copy_counts, "a copy of the card opened a dialog"),
)
TEAMS_MUTATIONS = (
    *IN_EVERY_CHAT,
    Mutation("activity not proved", token_not_proved, "is on record"),
    Mutation("edits not awaited", edits_not_awaited, "its card is stale"),
    Mutation("click handled again", click_handled_again, "outcomes"),
    Mutation("dialog handled again", dialog_handled_again, "outcomes"),
    Mutation("dropped yes on record", dropped_yes_on_record, "was acknowledged and led to nothing"),
)
SLACK_MUTATIONS = (
    *IN_EVERY_CHAT,
    Mutation("signature not proved", signature_not_proved, "is on record"),
    Mutation("delivery not known", delivery_not_known, "outcomes"),
)
