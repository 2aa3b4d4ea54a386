"""The state of the workspace, in memory: users, channels, messages, files and views."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from bot.demo.slack.block_parts import as_stored_by_slack
from bot.demo.slack.changes import Changes
from bot.demo.slack.ids import IdGenerator
from bot.demo.slack.message import File, Message
from bot.demo.slack.people import BOT, CHANNELS, GROUPS, USERS, Channel, User, UserGroup
from bot.demo.slack.view import View


class Workspace:
    """The state of the workspace. Every change is announced through `changes`.

    Permissions are checked by the Web API and by the interactions, not here.
    """

    def __init__(self, names: IdGenerator) -> None:
        self.names = names
        self.changes = Changes()
        self.users: dict[str, User] = {user.id: user for user in USERS}
        self.groups: dict[str, UserGroup] = {group.id: group for group in GROUPS}
        self.channels: dict[str, Channel] = {channel.id: channel for channel in CHANNELS}
        self.files: dict[str, File] = {}
        self.homes: dict[str, View] = {}
        self.modals: dict[str, list[View]] = {}  # each person's stack, the visible modal last
        self._messages: dict[str, dict[str, Message]] = {channel.id: {} for channel in CHANNELS}

    # --- people and channels

    def user(self, name: str) -> User:
        """Return a member by id or name. Raises: LookupError."""
        for user in self.users.values():
            if name.removeprefix("@") in (user.id, user.name):
                return user
        raise LookupError(f"nobody here is called {name!r}; there are {', '.join(u.name for u in self.users.values())}")

    def channel(self, name: str) -> Channel:
        """Return a conversation by id or `#name`. Raises: LookupError."""
        for channel in self.channels.values():
            if name == channel.id or (not channel.is_direct and name.removeprefix("#") == channel.name):
                return channel
        raise LookupError(f"no channel {name!r} here")

    def direct(self, user: str) -> Channel:
        """Return a person's direct message with the bot, and open it if there is none."""
        person = self.user(user)
        for channel in self.channels.values():
            if channel.person == person.id:
                return channel
        return self.add_channel(Channel(self.names.id("D"), person.name, (person.id, BOT.id), person=person.id))

    def add_channel(self, channel: Channel) -> Channel:
        """Add or replace a conversation."""
        self.channels[channel.id] = channel
        self._messages.setdefault(channel.id, {})
        self.changes.wake()
        return channel

    def add_user(self, user: User) -> User:
        """Add or replace a user."""
        self.users[user.id] = user
        self.changes.wake()
        return user

    def set_member(self, channel: str, user: str, *, member: bool) -> Channel:
        """Add somebody to a channel, or remove them."""
        found = self.channel(channel)
        others = tuple(each for each in found.members if each != self.user(user).id)
        return self.add_channel(replace(found, members=(*others, self.user(user).id) if member else others))

    # --- messages

    def post(self, channel: str, user: str, text: str, **parts: Any) -> Message:
        """Post a message to a channel; `parts` are further fields of `Message`."""
        parts["blocks"] = as_stored_by_slack(parts.get("blocks") or (), self.names.short)
        message = Message(ts=self.names.ts(), channel=channel, user=user, text=text, **parts)
        parent = self._messages[channel].get(message.thread_ts or "")
        if parent is not None and parent.thread_ts is None:
            self._store_message(replace(parent, thread_ts=parent.ts))
        return self._store_message(message)

    def edit(self, message: Message, **parts: Any) -> Message:
        """Change a message's content and mark it as edited."""
        if parts.get("blocks"):
            parts["blocks"] = as_stored_by_slack(parts["blocks"], self.names.short)
        return self._store_message(replace(message, edited_ts=self.names.ts(), **parts))

    def _store_message(self, message: Message) -> Message:
        self._messages[message.channel][message.ts] = message
        self.changes.wake()
        return message

    def find(self, channel: str, ts: str) -> Message | None:
        """Return a message, None if there is no such message."""
        return self._messages.get(channel, {}).get(ts)

    def messages(self, channel: str, user: str | None = None) -> list[Message]:
        """Return a conversation's messages in order, with the ephemeral ones of `user`."""
        everything = self._messages[self.channel(channel).id].values()
        person = self.user(user).id if user else None
        return [each for each in everything if each.only_for in (None, person)]

    def thread(self, channel: str, ts: str) -> list[Message]:
        """Return a message and the replies to it."""
        everything: Iterable[Message] = self._messages[channel].values()
        return [each for each in everything if ts in (each.ts, each.thread_ts)]

    # --- views

    def publish(self, view: View) -> View:
        """Show a person's App Home."""
        self.homes[view.user] = view
        self.changes.wake()
        return view

    def set_modals(self, user: str, stack: list[View]) -> None:
        """Show a person these modals, the last on top. An empty list closes all."""
        self.modals[user] = stack
        self.changes.wake()

    def replace_view(self, view: View) -> View:
        """Replace a view with its new version."""
        if self.homes.get(view.user, view).id == view.id and view.kind == "home":
            return self.publish(view)
        stack = [view if each.id == view.id else each for each in self.modals.get(view.user, [])]
        self.set_modals(view.user, stack)
        return view

    def view(self, view_id: str) -> View | None:
        """Return an open modal or an App Home."""
        everything = [*self.homes.values(), *(view for stack in self.modals.values() for view in stack)]
        return next((view for view in everything if view.id == view_id), None)
