"""What a person does with messages and modals: click, choose, fill in, submit, close, open the App Home."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bot.demo.slack.block_parts import Block, find_element
from bot.demo.slack.delivery import Delivered
from bot.demo.slack.form_values import element_state, fill
from bot.demo.slack.hands import Hands
from bot.demo.slack.message import Message
from bot.demo.slack.people import Channel, User
from bot.demo.slack.refusal import SlackRefused
from bot.demo.slack.view import View

CONNECTION_ERROR = "We had some trouble connecting. Try again?"


@dataclass(frozen=True, slots=True)
class Submitted:
    """The outcome of a submission: the view that is still open, the app's errors by block, and Slack's own error."""

    view: View | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    trouble: str = ""
    delivered: Delivered | None = None


@dataclass(slots=True)
class Interactions(Hands):
    """The interactions of everybody in the workspace."""

    file_address: str

    async def click(
        self,
        user: str,
        message: Message,
        action_id: str,
        value: Any = None,
        block_id: str | None = None,
        shown: Block | None = None,
    ) -> Delivered:
        """Click a button of a message, or choose `value` in one of its menus. Confirmations are accepted.

        Shape: `shown` is the element as the person saw it, if the message may have been edited since.

        Raises: LookupError when the person cannot see the message, or it has no such element or option.
        """
        person = self.workspace.user(user)
        place, now = self._visible_message(person, message)
        block, element = find_element(now.blocks, action_id, block_id, shown)
        action = {
            **element_state(element, value),
            "action_id": action_id,
            "block_id": block["block_id"],
        }
        urls = {
            "response_url": self.urls.give("actions", place.id, person.id),
            "trigger_id": self.triggers.give(person.id),
        }
        replies = len(self.workspace.thread(now.channel, now.ts)) - 1
        told = now.as_slack(replies=replies, file_address=self.file_address)
        return await self.dispatcher.interaction(self.payloads.click_in_message(person, place, now, told, action, urls))

    async def click_in_view(
        self, user: str, view: View, action_id: str, value: Any = None, block_id: str | None = None
    ) -> Delivered:
        """Click or choose in a modal or the App Home.

        Raises: LookupError when the view is closed, or has no such element or option.
        """
        person, now = self.workspace.user(user), self._open_view(view)
        block, element = find_element(now.blocks, action_id, block_id)
        state = element_state(element, value)
        if element["type"] != "button":
            values = {**now.values, block["block_id"]: {**now.values.get(block["block_id"], {}), action_id: state}}
            now = self.workspace.replace_view(replace(now, values=values))
        action = {**state, "action_id": action_id, "block_id": block["block_id"]}
        trigger = self.triggers.give(person.id)
        return await self.dispatcher.interaction(self.payloads.click_in_view(person, now, action, trigger))

    def _visible_message(self, person: User, message: Message) -> tuple[Channel, Message]:
        """Return a message as it is now, and its channel. Raises: LookupError when the person cannot see it."""
        place = self.workspace.channel(message.channel)
        now = self.workspace.find(message.channel, message.ts)
        if now is None or person.id not in place.members or not now.seen_by(person.id):
            raise LookupError(f"{person.name} sees no such message")
        return place, now

    async def submit(self, user: str, view: View, values: Mapping[str, Any] | None = None) -> Submitted:
        """Fill in a modal and submit it; `values` are by action id, or by block id and then action id.

        Raises: LookupError when the view is closed.
        """
        person, now = self.workspace.user(user), self._open_view(view)
        state, errors = fill(now, values or {})
        now = self.workspace.replace_view(replace(now, values=state, errors=errors, trouble=""))
        if errors:
            return Submitted(now, errors)
        payload = self.payloads.submission(person, now, self.triggers.give(person.id))
        delivered = await self.dispatcher.interaction(payload)
        try:
            if not delivered.is_acknowledged:
                raise SlackRefused(delivered.failure)
            left = self._apply_answer(now, delivered.answer or {})
        except SlackRefused:
            left = self.workspace.replace_view(replace(now, trouble=CONNECTION_ERROR))
        if left is None:
            return Submitted(delivered=delivered)
        return Submitted(left, left.errors, left.trouble, delivered)

    def _apply_answer(self, view: View, answer: Mapping[str, Any]) -> View | None:
        """Apply the app's answer to a submission, and return the view that is on top afterwards."""
        if not answer:
            return self._close_modal(view)
        known = {block["block_id"] for block in view.blocks if block["type"] == "input"}
        errors = answer.get("errors")
        are_known = isinstance(errors, dict) and errors and errors.keys() <= known
        if answer.get("response_action") != "errors" or not are_known:
            raise SlackRefused("invalid_arguments")  # of what Slack takes, the bot says errors alone
        return self.workspace.replace_view(
            replace(view, errors={name: str(says) for name, says in dict(errors or {}).items()})
        )

    def _close_modal(self, view: View) -> View | None:
        left = [each for each in self.workspace.modals.get(view.user, []) if each.id != view.id]
        self.workspace.set_modals(view.user, left)
        return left[-1] if left else None

    async def close(self, user: str, view: View) -> None:
        """Close a modal without submitting it.

        Raises: LookupError when the view is closed already.
        """
        self.workspace.user(user)
        self._close_modal(self._open_view(view))

    async def open_home(self, user: str) -> Delivered:
        """Open the App Home."""
        person = self.workspace.user(user)
        event: dict[str, Any] = {
            "type": "app_home_opened",
            "user": person.id,
            "channel": self.workspace.direct(person.id).id,
            "event_ts": self.workspace.names.ts(),
            "tab": "home",
        }
        if view := self.workspace.homes.get(person.id):
            event["view"] = view.as_slack()
        return await self.dispatcher.event(self.payloads.event(event, self.clock()))

    def _open_view(self, view: View) -> View:
        now = self.workspace.view(view.id)
        if now is None:
            raise LookupError("that view is closed")
        return now
