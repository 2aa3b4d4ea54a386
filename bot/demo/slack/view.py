"""Modals and App Homes, with their JSON.

Shape: https://docs.slack.dev/reference/views
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bot.demo.slack.block_parts import Block, Blocks
from bot.demo.slack.people import APP_ID, BOT_ID, TEAM_ID

PARTS = ("title", "submit", "close")
WORDS = ("private_metadata", "callback_id")


@dataclass(frozen=True, slots=True)
class View:
    """A view of a person. `hash` changes with every version; `values` are the filled-in values."""

    id: str
    user: str
    kind: str
    hash: str
    blocks: Blocks
    fields: dict[str, Any] = field(default_factory=dict)
    values: dict[str, dict[str, Block]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)  # by block, from the app's answer to a submission
    trouble: str = ""  # Slack's own error, when the app did not answer or answered badly

    @property
    def callback_id(self) -> str:
        """The app's name for this view."""
        return str(self.fields.get("callback_id", ""))

    @property
    def private_metadata(self) -> str:
        """The app's hidden data."""
        return str(self.fields.get("private_metadata", ""))

    def as_slack(self) -> dict[str, Any]:
        """Return the view as the Web API and interaction payloads show it."""
        return {
            "id": self.id,
            "team_id": TEAM_ID,
            "app_id": APP_ID,
            "app_installed_team_id": TEAM_ID,
            "bot_id": BOT_ID,
            "type": self.kind,
            "blocks": list(self.blocks),
            "hash": self.hash,
            "state": {"values": self.values},
            "root_view_id": self.id,
            "previous_view_id": None,
            **{name: self.fields.get(name) for name in PARTS},
            **{name: self.fields.get(name, "") for name in WORDS},
        }
