"""Makes the policy from the settings; logs it at the start, and records it when it has changed."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

from bot.domain.alert import BOT, PEOPLE, SLACK, TEAMS, TERMINAL
from bot.domain.contracts import Log
from bot.domain.errors import LedgerError, SettingsError, UnreadableEntry
from bot.domain.house_events import HOUSE, PolicyChanged
from bot.domain.policy import Limits, Policy, person_of
from bot.domain.safe_text import one_line
from bot.inventory import Inventory
from bot.ledger import Ledger
from bot.seats import Rules
from bot.settings import Settings
from bot.surfaces.teams.settings import TeamsSettings, teams_user

SLACK_HOSTS = ("slack.com", "slack-gov.com")
SIMULATED = frozenset({"demo", "lab"})  # the labels of simulated nodes


def policy_of(settings: Settings, known: Inventory) -> Policy:
    """Return the policy in force.

    Shape: a server that stands in for a chat could say yes in anybody's name. With such a server acting is off, unless
    the settings have an explicit `acting = true`, or every node belongs to the demo or the lab.
    """
    policy = policy_as_written(settings, len(known.nodes))
    host = urlsplit(settings.slack.api_url).hostname or ""
    is_slack = host in SLACK_HOSTS or host.endswith(tuple(f".{known_host}" for known_host in SLACK_HOSTS))
    is_written = settings.policy.acting is True
    is_ours = bool(known.nodes) and all(SIMULATED & node.labels.keys() for node in known.nodes)
    is_chats = is_slack and settings.of(TeamsSettings).is_microsofts
    return policy if is_chats or is_written or is_ours else replace(policy, acting=False)


def policy_as_written(settings: Settings, nodes: int = 0) -> Policy:
    """Return the settings for acting; `nodes` is how many the inventory has.

    Raises: SettingsError where [policy] names somebody in Teams who is not of the bot's tenant.
    """
    said, act = settings.policy, settings.act
    tenant = settings.of(TeamsSettings).tenant
    for who in (*said.approvers, *said.terminal_approvers.values(), *said.askers):
        if who.startswith(f"{TEAMS}:") and not teams_user(who, tenant):
            raise SettingsError(
                f'[policy] names "{one_line(who, 100)}", who is nobody of the bot\'s tenant in Teams.',
                f'Write "{TEAMS}:TENANT/OBJECT", both ids as Entra shows them, the tenant as in TEAMS_TENANT.',
            )
    by_member = {
        user: person_of(_with_chat_kind(user)) for user in (*said.approvers, *said.terminal_approvers.values()) if user
    }
    in_terminal = {name: f"{TERMINAL}:{name}" for name in said.terminal_approvers}
    approvers = frozenset((*(by_member[user] for user in said.approvers), *in_terminal.values()))
    policy = Policy(
        # Acting is on if approvers are named, and `acting = false` always turns it off.
        acting=bool(approvers or said.approver_groups) if said.acting is None else said.acting,
        approvers=approvers,
        approver_groups=frozenset(_with_chat_kind(group) for group in said.approver_groups),
        same_person={in_terminal[name]: by_member[user] for name, user in said.terminal_approvers.items() if user},
        kinds=PEOPLE,
        self_approval=said.self_approval,
        approval_expires=said.approval_expires,
        units=act.units,
        start_units=act.start_units,
        validation=act.validation,
        reboot_deadline=act.reboot_deadline,
        limits=Limits(act.max_nodes_at_once, act.per_hour, act.per_label, act.percent, nodes),
        quiet=said.quiet,
        approvals=said.approvals,
        approvals_for_several=said.approvals_for_several,
        unnamed_kind=SLACK,
        proven_only=act.proven_only,
    )
    for table in settings.members.values():
        if isinstance(table, Rules):
            policy = table.over(policy)
    return policy


def _with_chat_kind(name: str) -> str:
    """Return the name of a person or a group with its kind, which those of Slack need not have."""
    return name if ":" in name else f"{SLACK}:{name}"


async def note_policy(policy: Policy, ledger: Ledger, log: Log) -> None:
    """Log who may do what; without the ledger the bot starts all the same."""
    if because := _acting_off_words(policy):
        log("acting_off", because=because)
    else:
        starts = {"start_units": ", ".join(sorted(policy.start_units))} if policy.start_units else {}
        log("acting_on", units=", ".join(sorted(policy.units)), **starts, at_once=policy.limits.at_once)
    try:
        if await _recorded_digest(ledger) != policy.digest:
            await ledger.append(HOUSE, None, PolicyChanged(policy.digest, policy.text), BOT)
            log("policy_changed", digest=policy.digest)
    except LedgerError as error:
        log("ledger_unavailable", error=str(error))


def _acting_off_words(policy: Policy) -> str:
    if not policy.names_anybody:
        return "nobody may approve anything: [policy] names no approvers"
    if not policy.acting:
        return (
            "[policy] acting is off, or SLACK_API_URL is not Slack's, or an address of Teams not Microsoft's: nothing "
            "is offered and nothing begins"
        )
    if not policy.units and not policy.start_units:
        return "[act] units names no unit: nothing may be stopped"
    return ""


async def _recorded_digest(ledger: Ledger) -> str:
    try:
        entry = await ledger.policy()
        event = entry.event if entry is not None else None
    except UnreadableEntry:
        return ""
    return event.digest if isinstance(event, PolicyChanged) else ""
