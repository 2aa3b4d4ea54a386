"""The message box: a person types a message, a mention or a slash command, and Slack reacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bot.demo.slack.access import Access
from bot.demo.slack.delivery import TOO_LATE, Delivered
from bot.demo.slack.hands import Hands
from bot.demo.slack.message import Message
from bot.demo.slack.people import BOT, BOT_USER, SLACKBOT, TEAM_ID, Channel, User
from bot.demo.slack.refusal import SlackRefused
from bot.demo.slack.response_urls import respond
from bot.demo.slack.typed import as_commanded, as_typed


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A slash command of the app's manifest.

    Shape: with `should_escape` users and channels arrive as ids, and the three markup characters escaped.
    """

    name: str
    description: str = ""
    usage_hint: str = ""
    should_escape: bool = False


HINT = "check NODE… | status | cancel ID | undo ID | brake on | help"
COMMANDS = (SlashCommand("/zombie", "Check a node and say what is wrong with it", HINT, should_escape=True),)


@dataclass(frozen=True, slots=True)
class Said:
    """The outcome of typing: the message that was posted, and what was delivered to the app."""

    message: Message | None = None
    delivered: Delivered | None = None


@dataclass(slots=True)
class Composer(Hands):
    """The message box of every channel."""

    access: Access
    commands: tuple[SlashCommand, ...] = COMMANDS

    async def say(self, user: str, channel: str, text: str, thread_ts: str | None = None) -> Said:
        """Type something into a channel or a thread, press Enter, and wait for the app's acknowledgement.

        `@zombie` as the channel means the direct message with the bot.

        Raises: LookupError when there is no such person or channel, or the person is not in it.
        """
        person = self.workspace.user(user)
        place = self._channel_of(person, channel)
        if text.startswith("/"):
            return await self._deliver_command(person, place, text, thread_ts)
        message = self.workspace.post(place.id, person.id, as_typed(self.workspace, text), thread_ts=thread_ts)
        return Said(message, await self._deliver_event(person, place, message))

    def _channel_of(self, person: User, channel: str) -> Channel:
        named_bot = channel.removeprefix("@") in (BOT.name, BOT.id)
        place = self.workspace.direct(person.id) if named_bot else self.workspace.channel(channel)
        if person.id not in place.members:
            raise LookupError(f"{person.name} is not in #{place.name}")
        return place

    # --- messages

    async def _deliver_event(self, person: User, place: Channel, message: Message) -> Delivered | None:
        named = f"<@{BOT_USER}>" in message.text
        if place.is_direct:
            if "im:history" not in self.access.scopes:
                return None
            event: dict[str, Any] = {"type": "message", "channel_type": "im"}
        elif named and BOT_USER in place.members and "app_mentions:read" in self.access.scopes:
            event = {"type": "app_mention"}
        else:
            if named and BOT_USER not in place.members:
                says = (
                    f"You mentioned <@{BOT_USER}>, but they’re not in this channel. Type `/invite @{BOT.name}` first."
                )
                self._post_notice(person, place, says, message.thread_ts)
            return None
        event |= {"user": person.id, "text": message.text, "ts": message.ts, "team": TEAM_ID}
        event |= {"channel": place.id, "event_ts": message.ts, "client_msg_id": self.workspace.names.envelope()}
        if message.thread_ts:
            event |= {"thread_ts": message.thread_ts}
        return await self.dispatcher.event(self.payloads.event(event, self.clock()))

    # --- commands

    async def _deliver_command(self, person: User, place: Channel, text: str, thread_ts: str | None) -> Said:
        command, _, rest = text.partition(" ")
        if command in ("/invite", "/remove"):
            return self._change_members(person, place, command, rest.split())
        if command not in {each.name for each in self.commands}:
            says = f"`{command}` is not a valid command. In Slack, all messages that start with the “/” character "
            self._post_notice(person, place, f"{says}are interpreted as commands.", thread_ts)
            return Said()
        if thread_ts:
            self._post_notice(person, place, f"`{command}` is not supported in threads. Sorry!", thread_ts)
            return Said()
        urls = {
            "response_url": self.urls.give("commands", place.id, person.id),
            "trigger_id": self.triggers.give(person.id),
        }
        text = rest.strip()
        if any(each.name == command and each.should_escape for each in self.commands):
            text = as_commanded(self.workspace, text)
        payload = self.payloads.command(person, place, command, text, urls)
        delivered = await self.dispatcher.command(payload)
        self._show_outcome(person, place, command, delivered)
        return Said(delivered=delivered)

    def _show_outcome(self, person: User, place: Channel, command: str, delivered: Delivered) -> None:
        if delivered.failure == TOO_LATE:
            says = f"`{command}` failed because the app did not respond. "
            self._post_notice(person, place, f"{says}Please try again or contact the app developer.")
        elif delivered.failure:
            self._post_notice(person, place, f"`{command}` failed with the error “{delivered.failure}”")
        elif delivered.answer and (delivered.answer.get("text") or delivered.answer.get("blocks")):
            try:
                respond(self.workspace, place.id, person.id, delivered.answer)
            except SlackRefused:
                self._post_notice(person, place, f"`{command}` failed with the error “invalid_command_response”")

    def _change_members(self, person: User, place: Channel, command: str, names: list[str]) -> Said:
        for name in names:
            try:
                member = self.workspace.user(name)
            except LookupError:
                self._post_notice(person, place, f"There is nobody called {name} here.")
                continue
            self.workspace.set_member(place.id, member.id, member=command == "/invite")
            did = "was added to" if command == "/invite" else "was removed from"
            says = f"<@{member.id}> {did} <#{place.id}|{place.name}> by <@{person.id}>."
            self.workspace.post(place.id, SLACKBOT, says)
        return Said()

    def _post_notice(self, person: User, place: Channel, text: str, thread_ts: str | None = None) -> None:
        self.workspace.post(place.id, SLACKBOT, text, only_for=person.id, thread_ts=thread_ts)
