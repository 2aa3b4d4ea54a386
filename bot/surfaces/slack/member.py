"""Slack as a member of the surfaces: its people, its posts, what doctor looks at there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.domain.alert import SLACK
from bot.domain.contracts import Clock
from bot.domain.doctor_finding import DoctorFinding, Mark
from bot.domain.errors import SettingsError
from bot.surfaces.descriptor import DoctorChecks, SurfaceDescriptor, known
from bot.surfaces.slack.tokens import SlackTokens

if TYPE_CHECKING:
    from bot.domain.policy import Policy

_PEOPLE = f"{SLACK}:"


def ids_of(names: frozenset[str]) -> frozenset[str]:
    """Return the ids of Slack's people and groups, as Slack writes them.

    Example:
    >>> ids_of(frozenset({"slack:U1", "terminal:ann"}))
    frozenset({'U1'})
    """
    return frozenset(name.removeprefix(_PEOPLE) for name in names if name.startswith(_PEOPLE))


def doctor_checks(settings: Any, policy: Policy, now: Clock) -> DoctorChecks:
    from bot.surfaces.slack.examination import SlackExamination

    bot, app, signing, _ = settings.slack.access
    if not (bot or app or signing):
        seen = "no token is set: zombie serve takes alerts without, and terminal commands need none"
        return (known(DoctorFinding("Slack", Mark.NOT_SET, seen)),)
    try:
        tokens = SlackTokens.of(*settings.slack.access)
    except SettingsError as no:
        return (known(DoctorFinding("Slack", Mark.WRONG, no.sentence, no.try_next)),)
    slack = SlackExamination(tokens, now)
    return (
        ("Slack bot token", slack.bot_token),
        ("Slack Socket Mode", slack.socket),
        ("approvers", lambda: slack.people(ids_of(policy.approvers), ids_of(policy.approver_groups))),
    )


SURFACE = SurfaceDescriptor(SLACK, "in Slack", looks=doctor_checks)
