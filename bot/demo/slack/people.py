"""The workspace's team, users, bot, user groups and channels, with their JSON.

Shapes: https://docs.slack.dev/reference/objects/user-object and …/conversation-object
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

TEAM_ID = "T0DEMO0001"
TEAM_NAME = "Demo"
TEAM_DOMAIN = "demo"
APP_ID = "A0ZOMBIE01"
BOT_ID = "B0ZOMBIE01"
BOT_USER = "U0ZOMBIE01"
SLACKBOT = "USLACKBOT"


@dataclass(frozen=True, slots=True)
class User:
    """A user: a member, a guest, somebody from another workspace, or a bot."""

    id: str
    name: str
    real_name: str
    is_bot: bool = False
    is_guest: bool = False
    is_single_channel_guest: bool = False
    is_stranger: bool = False
    is_deleted: bool = False
    is_email_confirmed: bool = True
    timezone: str = "Etc/UTC"
    team_id: str = TEAM_ID

    @property
    def email(self) -> str:
        """The e-mail address; a bot has none."""
        return "" if self.is_bot else f"{self.name}@{TEAM_DOMAIN}.example"

    def as_slack(self, *, with_email: bool = False) -> dict[str, Any]:
        """Return the user as `users.info` shows it. The e-mail address needs its own scope."""
        profile = {"real_name": self.real_name, "display_name": self.name, "team": self.team_id}
        if with_email and self.email:
            profile["email"] = self.email
        found = {
            "id": self.id,
            "team_id": self.team_id,
            "name": self.name,
            "deleted": self.is_deleted,
            "real_name": self.real_name,
            "tz": self.timezone,
            "profile": profile,
            "is_admin": False,
            "is_owner": False,
            "is_restricted": self.is_guest or self.is_single_channel_guest,
            "is_ultra_restricted": self.is_single_channel_guest,
            "is_bot": self.is_bot,
            "is_app_user": False,
            "is_email_confirmed": self.is_email_confirmed,
        }
        return {**found, "is_stranger": True} if self.is_stranger else found


@dataclass(frozen=True, slots=True)
class UserGroup:
    """A user group, such as the people on call."""

    id: str
    handle: str
    name: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Channel:
    """A conversation: a channel, or the direct message of `person` with the bot."""

    id: str
    name: str
    members: tuple[str, ...]
    is_private: bool = False
    is_archived: bool = False
    person: str | None = None
    topic: str = ""

    @property
    def is_direct(self) -> bool:
        """Whether it is a direct message with the bot."""
        return self.person is not None

    @property
    def name_in_payloads(self) -> str:
        """The conversation's name in the payloads of commands and clicks."""
        return "directmessage" if self.is_direct else ("privategroup" if self.is_private else self.name)


ALICE = User("U0ALICE001", "alice", "Alice Moreau")
BOB = User("U0BOB00001", "bob", "Bob Okafor")
GUEST = User("U0GUEST001", "gina", "Gina Park", is_guest=True)
BOT = User(BOT_USER, "zombie", "Zombie", is_bot=True)
SLACKBOT_USER = User(SLACKBOT, "slackbot", "Slackbot", is_bot=True)

USERS = (ALICE, BOB, GUEST, BOT, SLACKBOT_USER)
GROUPS = (UserGroup("S0SRE00001", "sre-oncall", "SRE on call", (ALICE.id, BOB.id)),)
ALERTS = Channel("C0ALERTS01", "alerts", (ALICE.id, BOB.id, BOT.id), topic="What the monitoring says")
CHANNELS = (
    Channel("C0ONCALL01", "oncall-gpu", (ALICE.id, BOB.id, GUEST.id, BOT.id), topic="GPU fleet, day and night"),
    ALERTS,
    Channel("C0GENERAL1", "general", (ALICE.id, BOB.id), topic="Everything else; the bot is no member here"),
    Channel("D0ALICE001", "alice", (ALICE.id, BOT.id), person=ALICE.id),
    Channel("D0BOB00001", "bob", (BOB.id, BOT.id), person=BOB.id),
    Channel("D0GUEST001", "gina", (GUEST.id, BOT.id), person=GUEST.id),
)
