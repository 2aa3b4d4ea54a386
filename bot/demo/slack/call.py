"""A call of the Web API, with everything that a method needs to answer it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from bot.demo.slack.access import Access
from bot.demo.slack.arguments import Arguments
from bot.demo.slack.message import Message
from bot.demo.slack.people import BOT_USER, Channel
from bot.demo.slack.refusal import SlackRefused
from bot.demo.slack.triggers import Triggers
from bot.demo.slack.uploads import Uploads
from bot.demo.slack.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments and the workspace of a call. `origin` is the server's address."""

    arguments: Arguments
    workspace: Workspace
    access: Access
    triggers: Triggers
    uploads: Uploads
    origin: str
    connect: Callable[[], str]

    def channel(self, name: str, *, foreign_is: str = "not_in_channel") -> Channel:
        """Return a conversation that the bot may post to. A user's id means their direct message.

        Raises: SlackRefused with `channel_not_found`, `is_archived` or `foreign_is`.
        """
        try:
            channel = self.workspace.direct(name) if name in self.workspace.users else self.workspace.channel(name)
        except LookupError as error:
            raise SlackRefused("channel_not_found") from error
        if BOT_USER not in channel.members:
            raise SlackRefused("channel_not_found" if channel.is_private else foreign_is)
        if channel.is_archived:
            raise SlackRefused("is_archived")
        return channel

    def message(self, channel: Channel, ts: str) -> Message:
        """Return a message that everybody sees. Raises: SlackRefused with `message_not_found`."""
        found = self.workspace.find(channel.id, ts)
        if found is None or found.only_for:
            raise SlackRefused("message_not_found")
        return found

    def shown(self, message: Message) -> dict[str, Any]:
        """Return a message as the Web API shows it."""
        replies = len(self.workspace.thread(message.channel, message.ts)) - 1 if message.thread_ts else 0
        return message.as_slack(replies=replies, file_address=self.file_address)

    @property
    def file_address(self) -> str:
        """The address of the files' contents."""
        return f"{self.origin}/page/files"


Handler: TypeAlias = Callable[[Call], dict[str, Any]]
"""Returns the fields of a successful answer. Raises: SlackRefused."""
