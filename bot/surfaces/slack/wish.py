"""A wish: one thing a person said to the bot."""

from __future__ import annotations

from dataclasses import dataclass

from bot.surfaces.slack.member import SLACK


@dataclass(frozen=True, slots=True)
class Wish:
    """What was said, by whom and where.

    Shape: `key` is Slack's own id of this saying: the same twice is one wish. `answer_at` is the address that answers a
    slash command, in private. `team` is the enterprise's id where there is one; `workspace` and `enterprise` say which
    workspace it came from.
    """

    key: str
    team: str
    user: str
    channel: str
    text: str
    thread_ts: str = ""
    answer_at: str = ""
    workspace: str = ""
    enterprise: str = ""

    @property
    def by(self) -> str:
        """The person as the record names them."""
        return f"{SLACK}:{self.team}/{self.user}"
