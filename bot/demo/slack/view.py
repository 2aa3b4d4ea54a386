"""A modal or an App Home as the workspace keeps it, in Slack's own shape.

Shape: https://docs.slack.dev/reference/views
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bot.demo.slack.block_parts import Block, Blocks
from bot.demo.slack.people import APP_ID, BOT_ID, TEAM_ID

PARTS = ("title", "submit", "close")
WORDS = ("private_metadata", "callback_id", "external_id")
SWITCHES = ("clear_on_close", "notify_on_close", "submit_disabled")


@dataclass(frozen=True, slots=True)
class View:
    """One view of one person; `hash` changes with every version of it, `values` is what was filled in."""

    id: str
    user: str
    kind: str
    hash: str
    blocks: Blocks
    fields: dict[str, Any] = field(default_factory=dict)
    values: dict[str, dict[str, Block]] = field(default_factory=dict)
    root_id: str = ""
    previous_id: str | None = None
    errors: dict[str, str] = field(default_factory=dict)  # by block, as the app answered a submission
    trouble: str = ""  # what Slack itself tells under the form when the app's answer was none or bad

    @property
    def callback_id(self) -> str:
        """The app's own name for this view."""
        return str(self.fields.get("callback_id", ""))

    @property
    def private_metadata(self) -> str:
        """What the app put away in it."""
        return str(self.fields.get("private_metadata", ""))

    @property
    def tells_when_closed(self) -> bool:
        """Whether the app wants to hear when a person closes it."""
        return bool(self.fields.get("notify_on_close"))

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
            "root_view_id": self.root_id or self.id,
            "previous_view_id": self.previous_id,
            **{name: self.fields.get(name) for name in PARTS},
            **{name: self.fields.get(name, "") for name in WORDS},
            **{name: bool(self.fields.get(name)) for name in SWITCHES},
        }
