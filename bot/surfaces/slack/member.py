"""Slack as a member of the surfaces: its people, its posts, its tokens. The rest is imported on use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.domain.contracts import Clock
from bot.domain.doctor_finding import DoctorFinding, Mark
from bot.domain.errors import SettingsError
from bot.surfaces.member import DoctorChecks, SurfaceMember

if TYPE_CHECKING:
    from bot.domain.policy import Policy
from dataclasses import dataclass, field

from bot.sources.addresses import is_guarded

SLACK = "slack"
_PEOPLE = f"{SLACK}:"


def ids_of(names: frozenset[str]) -> frozenset[str]:
    """Return the ids of Slack's people and groups, as Slack writes them.

    Example:
    >>> ids_of(frozenset({"slack:U1", "terminal:ann"}))
    frozenset({'U1'})
    """
    return frozenset(name.removeprefix(_PEOPLE) for name in names if name.startswith(_PEOPLE))


def _told(examined: DoctorFinding) -> DoctorChecks:
    async def told() -> tuple[DoctorFinding, ...]:
        return (examined,)

    return ((examined.name, told),)


def _looks(settings: Any, policy: Policy, now: Clock) -> DoctorChecks:
    from bot.surfaces.slack.examination import SlackExamination
    from bot.surfaces.slack.member import SlackTokens

    bot, app, signing, _ = settings.slack.access
    if not (bot or app or signing):
        seen = "no token is set: zombie serve needs a token, terminal commands do not"
        return _told(DoctorFinding("Slack", Mark.NOT_SET, seen))
    try:
        tokens = SlackTokens.of(*settings.slack.access)
    except SettingsError as no:
        return _told(DoctorFinding("Slack", Mark.WRONG, no.sentence, no.try_next))
    slack = SlackExamination(tokens, now)
    return (
        ("Slack bot token", slack.bot_token),
        ("Slack Socket Mode", slack.socket),
        ("approvers", lambda: slack.people(ids_of(policy.approvers), ids_of(policy.approver_groups))),
    )


SURFACE = SurfaceMember(SLACK, "in Slack", has_people=True, looks=_looks)


@dataclass(frozen=True, slots=True)
class SlackTokens:
    """The app's tokens from Slack; never shown, not even by repr."""

    bot: str = field(repr=False)
    app: str = field(repr=False)
    signing_secret: str = field(repr=False)
    api_url: str

    @classmethod
    def of(cls, bot: str, app: str, signing_secret: str, api_url: str) -> SlackTokens:
        """Return the tokens in force; an empty text means not set.

        Raises: SettingsError when a token is missing, or the API's base is neither https nor loopback.
        """
        if not bot:
            raise SettingsError(
                "SLACK_BOT_TOKEN is not set.",
                "Set it to the xoxb-… token of “OAuth & Permissions”: SLACK_BOT_TOKEN=xoxb-1234-… zombie serve. "
                "Without a Slack at hand: zombie demo",
            )
        if not (app or signing_secret):
            raise SettingsError(
                "Slack cannot reach the bot: neither SLACK_APP_TOKEN nor SLACK_SIGNING_SECRET is set.",
                "Set SLACK_APP_TOKEN=xapp-1-… for Socket Mode, which needs no inbound port, or "
                "SLACK_SIGNING_SECRET=8f74… for HTTP.",
            )
        if not is_guarded(api_url):
            raise SettingsError("SLACK_API_URL is neither https nor on loopback.", "Leave it out for Slack itself.")
        base = api_url if api_url.endswith("/") else f"{api_url}/"
        return cls(bot, app, signing_secret, base)
