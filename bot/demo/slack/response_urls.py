"""Response URLs: answers to a command or a click without a token, five times within thirty minutes.

Defined in https://docs.slack.dev/interactivity/handling-user-interaction#message_responses
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bot.demo.slack.ids import IdGenerator
from bot.demo.slack.message import Message
from bot.demo.slack.people import BOT_USER, TEAM_ID
from bot.demo.slack.refusal import SlackRefused
from bot.demo.slack.validation import check_message
from bot.demo.slack.workspace import Workspace
from bot.domain.contracts import Clock

USES = 5
LIFE = timedelta(minutes=30)
MOST_KEPT = 10_000


@dataclass(slots=True)
class _ResponseUrl:
    channel: str
    user: str
    made_at: datetime
    uses_left: int = USES


class ResponseUrls:
    """The recent response URLs."""

    def __init__(self, clock: Clock, names: IdGenerator, workspace: Workspace, origin: str) -> None:
        self._origin = origin
        self._clock = clock
        self._names = names
        self._workspace = workspace
        self._given: dict[str, _ResponseUrl] = {}

    def give(self, kind: str, channel: str, user: str) -> str:
        """Return a new response URL; `kind` is `commands` or `actions`."""
        while len(self._given) >= MOST_KEPT:
            del self._given[next(iter(self._given))]
        ticket = self._names.secret()
        self._given[ticket] = _ResponseUrl(channel, user, self._clock())
        return f"{self._origin}/{kind}/{TEAM_ID}/{len(self._given)}/{ticket}"

    def receive(self, ticket: str, body: bytes) -> None:
        """Apply a POST to a response URL.

        Raises: SlackRefused with `used_url`, `expired_url`, or the message's error.
        """
        found = self._given.get(ticket)
        if found is None or self._clock() - found.made_at > LIFE:
            raise SlackRefused("expired_url")
        if not found.uses_left:
            raise SlackRefused("used_url")
        try:
            given = json.loads(body)
        except ValueError as error:
            raise SlackRefused("invalid_payload") from error
        if not isinstance(given, dict):
            raise SlackRefused("invalid_payload")
        respond(self._workspace, found.channel, found.user, given)
        found.uses_left -= 1


def respond(workspace: Workspace, channel: str, user: str, given: dict[str, Any]) -> Message:
    """Post an app's answer to a person: only for them, unless it says `in_channel`.

    Raises: SlackRefused with the message's error.
    """
    # Slack does not limit the total size of the blocks here.
    check_message(str(given.get("text") or ""), given.get("blocks"), in_all=None)
    return workspace.post(
        channel,
        BOT_USER,
        str(given.get("text") or ""),
        blocks=given.get("blocks"),
        thread_ts=given.get("thread_ts"),
        only_for=None if given.get("response_type") == "in_channel" else user,
    )
