"""Slack among the surfaces; what it takes to look at it is loaded when somebody looks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from bot.domain.errors import SettingsError
from bot.domain.examined import Examined, Mark
from bot.surfaces.member import Looks, SurfaceMember

if TYPE_CHECKING:
    from bot.domain.policy import Policy

SLACK = "slack"
_PEOPLE = f"{SLACK}:"


def ids_of(names: frozenset[str]) -> frozenset[str]:
    """Return the ids of those who are Slack's, as Slack writes them.

    Example:
    >>> ids_of(frozenset({"slack:U1", "terminal:ann"}))
    frozenset({'U1'})
    """
    return frozenset(name.removeprefix(_PEOPLE) for name in names if name.startswith(_PEOPLE))


def _looks(settings: Any, policy: Policy, now: Callable[[], datetime]) -> Looks:
    from bot.surfaces.slack.examination import SlackExamination
    from bot.surfaces.slack.tokens import SlackTokens

    try:
        tokens = SlackTokens.of(*settings.slack.access)
    except SettingsError as no:
        missing = Examined("Slack", Mark.WRONG, no.sentence, no.try_next)

        async def told() -> tuple[Examined, ...]:
            return (missing,)

        return (("Slack", told),)
    slack = SlackExamination(tokens, now)
    return (
        ("Slack bot token", slack.bot_token),
        ("Slack Socket Mode", slack.socket),
        ("approvers", lambda: slack.people(ids_of(policy.approvers), ids_of(policy.approver_groups))),
    )


SURFACE = SurfaceMember(SLACK, "in Slack", has_people=True, looks=_looks)
