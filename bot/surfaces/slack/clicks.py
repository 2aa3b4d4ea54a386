"""What a person did with a card, a dialog or the App Home, as values; nothing in them is believed yet.

Shapes: https://docs.slack.dev/reference/interaction-payloads
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.surfaces.slack.dialog import REASON
from bot.surfaces.slack.member import SLACK


@dataclass(frozen=True, slots=True)
class Person:
    """Who did it, and by which workspace's leave: all as the payload says.

    Shape: `home` is the workspace that the person is of, where the payload says so.
    """

    user: str
    team: str
    enterprise: str = ""
    home: str = ""

    @property
    def by(self) -> str:
        """The person as the record names them."""
        return f"{SLACK}:{self.enterprise or self.team}/{self.user}"


@dataclass(frozen=True, slots=True)
class Click:
    """A button or a menu's entry that was clicked.

    Shape: `key` is Slack's own id of this click: the same twice is one. `value` is the button's, or the entry chosen;
    `channel` and `ts` are of the message it stands in, both empty in the App Home.
    """

    key: str
    person: Person
    action: str
    value: str
    block: str
    trigger: str
    channel: str = ""
    ts: str = ""
    thread_ts: str = ""
    in_home: bool = False

    @property
    def thread(self) -> str:
        """The thread in which whoever clicked is answered; empty where the message stands in the channel itself."""
        return self.thread_ts if self.thread_ts != self.ts else ""


@dataclass(frozen=True, slots=True)
class Submission:
    """A dialog that was sent: what it carried, and the reason that was typed in."""

    key: str
    person: Person
    sealed: str
    reason: str


def click_of(body: Mapping[str, Any]) -> Click:
    """Return the click that a payload tells of; what is not there is empty."""
    actions = body.get("actions")
    action = _mapping(actions[0] if isinstance(actions, list) and actions else None)
    container, channel = _mapping(body.get("container")), _mapping(body.get("channel"))
    message = _mapping(body.get("message"))
    chosen = _mapping(action.get("selected_option"))
    return Click(
        key=f"click-{action.get('action_ts', '')}-{body.get('trigger_id', '')}",
        person=_person(body),
        action=str(action.get("action_id", "")),
        value=str(chosen.get("value") if chosen else action.get("value", "")),
        block=str(action.get("block_id", "")),
        trigger=str(body.get("trigger_id", "")),
        channel=str(channel.get("id") or container.get("channel_id") or ""),
        ts=str(container.get("message_ts") or message.get("ts") or ""),
        thread_ts=str(container.get("thread_ts") or message.get("thread_ts") or ""),
        in_home=container.get("type") == "view",
    )


def submission_of(body: Mapping[str, Any]) -> Submission:
    """Return the submission that a payload tells of; what is not there is empty."""
    view = _mapping(body.get("view"))
    values = _mapping(_mapping(view.get("state")).get("values"))
    typed = _mapping(_mapping(values.get(REASON)).get(REASON)).get("value")
    return Submission(
        key=f"sent-{view.get('id', '')}-{body.get('trigger_id', '')}",
        person=_person(body),
        sealed=str(view.get("private_metadata", "")),
        reason=str(typed or "").strip(),
    )


def _person(body: Mapping[str, Any]) -> Person:
    user, team, enterprise = (_mapping(body.get(name)) for name in ("user", "team", "enterprise"))
    return Person(
        user=str(user.get("id", "")),
        team=str(team.get("id") or user.get("team_id") or ""),
        enterprise=str(enterprise.get("id") or ""),
        home=str(user.get("team_id") or ""),
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
