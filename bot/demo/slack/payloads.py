"""The payloads that the app receives: slash commands, clicks, submissions and events.

Shapes: https://docs.slack.dev/interactivity/implementing-slash-commands, …/reference/interaction-payloads and
…/apis/events-api
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.demo.slack.access import Access
from bot.demo.slack.block_parts import Block
from bot.demo.slack.ids import IdGenerator
from bot.demo.slack.message import Message
from bot.demo.slack.people import APP_ID, BOT_USER, TEAM_DOMAIN, TEAM_ID, Channel, User
from bot.demo.slack.view import View

TEAM = {"id": TEAM_ID, "domain": TEAM_DOMAIN}


def _person(user: User) -> dict[str, str]:
    return {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team_id}


@dataclass(frozen=True, slots=True)
class Payloads:
    """Makes payloads, with the old verification token that Slack still sends."""

    access: Access
    names: IdGenerator

    def _interaction(self, kind: str, user: User) -> dict[str, Any]:
        return {
            "type": kind,
            "team": TEAM,
            "user": _person(user),
            "api_app_id": APP_ID,
            "token": self.access.verification_token,
            "enterprise": None,
            "is_enterprise_install": False,
        }

    def command(self, user: User, channel: Channel, command: str, text: str, urls: dict[str, str]) -> dict[str, Any]:
        """A slash command. `urls` has its `response_url` and `trigger_id`."""
        return {
            "token": self.access.verification_token,
            "team_id": TEAM_ID,
            "team_domain": TEAM_DOMAIN,
            "channel_id": channel.id,
            "channel_name": channel.name_in_payloads,
            "user_id": user.id,
            "user_name": user.name,
            "command": command,
            "text": text,
            "api_app_id": APP_ID,
            "is_enterprise_install": "false",
            **urls,
        }

    def click_in_message(
        self, user: User, channel: Channel, message: Message, shown: dict[str, Any], action: Block, urls: dict[str, str]
    ) -> dict[str, Any]:
        """A click on an element of a message."""
        container = {
            "type": "message",
            "message_ts": message.ts,
            "channel_id": channel.id,
            "is_ephemeral": message.only_for is not None,
        }
        if message.thread_ts:
            container["thread_ts"] = message.thread_ts
        return {
            **self._interaction("block_actions", user),
            "container": container,
            "channel": {"id": channel.id, "name": channel.name_in_payloads},
            "message": shown,
            "state": {"values": {}},
            "actions": [{**action, "action_ts": self.names.ts()}],
            **urls,
        }

    def click_in_view(self, user: User, view: View, action: Block, trigger_id: str) -> dict[str, Any]:
        """A click on an element of a modal or the App Home."""
        return {
            **self._interaction("block_actions", user),
            "container": {"type": "view", "view_id": view.id},
            "view": view.as_slack(),
            "actions": [{**action, "action_ts": self.names.ts()}],
            "trigger_id": trigger_id,
        }

    def submission(self, user: User, view: View, trigger_id: str) -> dict[str, Any]:
        """A submitted modal."""
        return {
            **self._interaction("view_submission", user),
            "trigger_id": trigger_id,
            "view": view.as_slack(),
            "response_urls": [],
        }

    def event(self, event: dict[str, Any], at: datetime) -> dict[str, Any]:
        """An event of the workspace."""
        return {
            "token": self.access.verification_token,
            "team_id": TEAM_ID,
            "context_team_id": TEAM_ID,
            "context_enterprise_id": None,
            "api_app_id": APP_ID,
            "event": event,
            "type": "event_callback",
            "event_id": self.names.id("Ev"),
            "event_time": int(at.timestamp()),
            "authorizations": [
                {
                    "enterprise_id": None,
                    "team_id": TEAM_ID,
                    "user_id": BOT_USER,
                    "is_bot": True,
                    "is_enterprise_install": False,
                }
            ],
            "is_ext_shared_channel": False,
            "event_context": f"4-{self.names.secret(6)}",
        }
