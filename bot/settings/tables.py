"""The general tables of zombie.toml, each with its keys and their defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from bot.domain import defaults
from bot.domain.chat_settings import ChatSettings
from bot.domain.protected import may_never_start
from bot.domain.safe_text import one_line
from bot.domain.setting import (
    FLAG,
    PATH,
    TEXT,
    Several,
    by_name,
    count,
    day_spans,
    duration,
    each,
    names,
    one_of,
    option,
    path,
    row,
    secret,
    time_between,
)
from bot.domain.toml_table import TomlTable

# systemd.unit(5); no pattern, because the text goes into sudoers and to systemctl literally.
_UNIT = re.compile(r"(?!-)[A-Za-z0-9:_.\\@-]{1,200}\.(?:service|socket|timer|path)\Z")
_IN_TEAMS = r"teams:[0-9a-f-]{36}/[0-9a-f-]{36}"  # the tenant, and the person's object id in Entra
_ASKER = re.compile(rf"(?:[UWS][A-Z0-9]+|{_IN_TEAMS})\Z")
_MEMBER = re.compile(rf"(?:[UW][A-Z0-9]+|{_IN_TEAMS})\Z")


def _unit(text: str) -> str:
    if _UNIT.match(text) is None:
        raise ValueError(f'holds "{one_line(text, 60)}"; a unit is written whole and alone, like "ecs.service"')
    return text


def _start_unit(text: str) -> str:
    if may_never_start(_unit(text)):
        raise ValueError(f'holds "{one_line(text, 60)}", which is never started: it ends the boot or opens a shell')
    return text


def _terminal_approver(entry: str) -> tuple[str, str]:
    """A name in a terminal, and the member ID that it is tied to, or nothing."""
    person, sign, user = (part.strip() for part in entry.partition("="))
    # Without a tie, the same person could ask in Slack and approve in a terminal, unnoticed.
    if not person or (sign and _MEMBER.match(user) is None):
        raise ValueError(f'holds "{one_line(entry, 60)}"; write "alice", or with a Slack member ID "alice=U012AB3CD"')
    return person, user


def _askers(table: TomlTable, name: str) -> frozenset[str] | None:
    """People and user groups; an empty set means all full members."""
    if table.is_text(name):
        if (word := table.text(name)) is not None and word != "members":
            table.wrong(name, f'is "{one_line(word, 40)}"; it should be "members", or a list of member and group IDs')
        return frozenset()
    asked = table.texts(name)
    for who in asked or ():
        if _ASKER.match(who) is None:
            table.wrong(
                name, f'holds "{one_line(who, 60)}"; write the ID of a member or a user group: "U012AB", "S012AB"'
            )
    if asked == ():
        table.wrong(name, 'is empty; every full member is "members"')
    return frozenset(asked) if asked is not None else None


@dataclass(frozen=True, slots=True)
class ExtrasSettings:
    """Which extras are left out, and which packages installed beside this one may take part."""

    off: frozenset[str] = option(names, frozenset(), 'Extras that are left out, such as "mcp" or "waves".')
    on: frozenset[str] = option(names, frozenset(), "Packages installed beside this one that may take part.")


@dataclass(frozen=True, slots=True)
class SlackSettings(ChatSettings):
    """How to reach Slack, and what it is used for."""

    word = "Slack"
    bot_token: str = secret(
        "Slack's xoxb-… token, from “OAuth & Permissions” once the app is installed.", "SLACK_BOT_TOKEN"
    )
    app_token: str = secret(
        "Slack's xapp-… token with connections:write. With it Slack is reached by Socket Mode, without an open port.",
        "SLACK_APP_TOKEN",
    )
    signing_secret: str = secret(
        "Slack's signing secret, from “Basic Information”. With it Slack may send by HTTP to /slack/events.",
        "SLACK_SIGNING_SECRET",
    )
    api_url: str = row(
        TEXT,
        "The base of Slack's Web API; https, or http on loopback.",
        "https://slack.com/api/",
        environment="SLACK_API_URL",
    )

    @property
    def access(self) -> tuple[str, str, str, str]:
        """Access to Slack: bot token, app token, signing secret and base; empty means not set."""
        return self.bot_token, self.app_token, self.signing_secret, self.api_url


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """Who may approve, and what alerts may lead to; `acting` is None if not set."""

    approvers: frozenset[str] = option(
        names,
        frozenset(),
        'Who may approve: members\' IDs ("U…"). Where nobody is named here or below, no plan is offered.',
    )
    approver_groups: frozenset[str] = option(names, frozenset(), 'User groups whose members may approve ("S…").')
    terminal_approvers: Mapping[str, str] = option(
        each(_terminal_approver, dict),
        {},
        'Who may approve in a terminal: "alice", or tied to a member, "alice=U012AB3CD".',
        like="[]",
    )
    askers: frozenset[str] = option(
        _askers,
        frozenset(),
        'Who may ask for checks: full members, or those of a list of "U…" and "S…".',
        like='"members"',
    )  # empty: every full member
    self_approval: bool = option(TomlTable.flag, False, "Whether the person who asked may approve.")
    approvals: int = option(count(1, 100), defaults.APPROVALS, "How many people have to say yes.")
    approvals_for_several: int = option(
        count(1, 100), defaults.APPROVALS, "How many, where one check or alert is about several nodes."
    )
    approval_expires: timedelta = option(
        duration,
        defaults.APPROVAL_EXPIRES,
        "How much time there is to decide, then to begin, and to answer a question.",
    )
    quiet: tuple[tuple[int, int], ...] = option(
        day_spans, (), 'Times of the day, UTC, in which nothing begins: "22:00-06:00".'
    )
    acting: bool | None = option(
        TomlTable.flag,
        None,
        "Whether anything may be done; false switches acting off. Else where approvers are named.",
        like="true",
    )
    cooldown: timedelta = option(
        duration, defaults.COOLDOWN, "How long the same alert about the same nodes joins the card that is there."
    )
    stale_after: timedelta = option(
        duration, timedelta(minutes=15), "An alert that is older than this is diagnosed, but no plan is offered."
    )


@dataclass(frozen=True, slots=True)
class ActSettings:
    """How much may be done, and to what; None means no limit."""

    units: frozenset[str] = option(
        each(_unit, frozenset),
        frozenset(),
        'The only units that may be stopped: "ecs.service". Some never may, such as kubelet, containerd and sshd.',
    )
    start_units: frozenset[str] = option(
        each(_start_unit, frozenset), frozenset(), "The only units that may be started."
    )
    proven_only: bool = option(
        TomlTable.flag, False, "Offer only cures that were proven for the cause and on the node's kernel."
    )
    validation: timedelta = option(
        duration, defaults.VALIDATION, "How long a node is watched before it counts as cured."
    )
    reboot_deadline: timedelta = option(duration, defaults.REBOOT_DEADLINE, "How long a reboot may take.")
    max_nodes_at_once: int = option(
        count(1), defaults.AT_ONCE, "How many nodes are acted on at once; the next one waits."
    )
    per_hour: int | None = option(
        count(), None, "How many nodes are acted on within an hour; without it no limit.", like="10"
    )
    per_label: Mapping[str, int] = option(
        by_name(count(1)), {}, "How many at once with the same value of a label: { az = 1 }."
    )
    percent: int | None = option(
        count(0, 100), None, "How large a share of the inventory is acted on at once; without it no limit.", like="5"
    )


@dataclass(frozen=True, slots=True)
class StormSettings:
    """How many alerts, within which time, make a storm."""

    alerts: int = option(
        count(1), defaults.STORM_ALERTS, "More alerts than this within the window are a storm, and get one card."
    )
    window: timedelta = option(duration, defaults.STORM_WINDOW, "The window of a storm.")


_SHORTEST_KEPT, _LONGEST_KEPT = timedelta(days=2), timedelta(days=100 * 366)


def _retention(table: TomlTable, name: str) -> timedelta | None:
    found = table.duration(name, _LONGEST_KEPT)
    if found is not None and found < _SHORTEST_KEPT:  # guards look back for a day, sources deliver again for two days
        table.wrong(name, 'should be at least "2d"')
        return None
    return found


def _incidents_for(table: TomlTable, name: str) -> timedelta | None:
    found, least = _retention(table, name), defaults.NOT_REBOOTED_AGAIN_WITHIN
    if found is not None and found < least:
        says = f"some reboots are not offered again within {least.days} days, and only the record knows of them"
        table.wrong(name, f'should be at least "{least.days}d": {says}')
        return None
    return found


@dataclass(frozen=True, slots=True)
class RetentionSettings:
    """How long the record keeps what is over; None means for ever. `zombie prune` removes what is older."""

    incidents: timedelta | None = option(
        _incidents_for,
        None,
        "How long the record has incidents that ended; without it for ever. `zombie prune` removes them.",
        like='"365d"',
    )
    readings: timedelta | None = option(
        _retention, None, "How long it has what their nodes said; without it as long as the incident.", like='"90d"'
    )
    deliveries: timedelta = option(_retention, defaults.DELIVERIES_KNOWN_FOR, "How long it has the ids of deliveries.")


@dataclass(frozen=True, slots=True)
class KubernetesSettings:
    """The account for draining nodes, and how to drain."""

    context: str = row(
        TEXT,
        "The kubeconfig's context in which nodes labelled kubernetes_node are; their label kubernetes_context may say "
        "another. The current context is never used.",
        "",
        toml="kubernetes.context",
        like='"prod"',
    )
    kubeconfig: Path | None = row(
        PATH,
        "The kubeconfig by which a node is drained before its reboot; the default is ~/.kube/config once a context is "
        "named.",
        environment="KUBECONFIG",
        toml="kubernetes.kubeconfig",
        like='"~/.kube/config"',
        name="kubeconfig",
    )
    in_cluster: bool = row(
        FLAG,
        "Use the account of the pod that this program runs in; its cluster's name is in-cluster.",
        False,
        toml="kubernetes.in_cluster",
    )
    drain_deadline: timedelta = row(
        time_between(timedelta(seconds=10), timedelta(days=1)),
        "How long a drain may take before it is handed to a person.",
        defaults.DRAIN_DEADLINE,
        toml="kubernetes.drain_deadline",
        name="drain_deadline",
    )
    bare_pods: bool = row(
        FLAG,
        "Evict also pods that no controller would start again; otherwise such a pod refuses the drain.",
        False,
        toml="kubernetes.bare_pods",
        name="bare_pods",
    )


@dataclass(frozen=True, slots=True)
class ActingLogin:
    """The login that acts, if it is not the login that reads; empty or None means the same login."""

    user: str = option(TomlTable.text, "", "The login that acts; else the one that reads.", like='"zombie-act"')
    key: Path | None = option(
        path,
        None,
        "Its private key, which is not read while acting is off; else the inventory's.",
        like='"zombie_act_key"',
    )


@dataclass(frozen=True, slots=True)
class RouteSettings(Several):
    """A [[route]]; an empty text means the general default."""

    match: Mapping[str, str] = option(
        by_name(TomlTable.text),
        {},
        "What an alert has to have: its source, service or labels. The first route that fits counts.",
        like='{ source = "pagerduty", service = "gpu" }',
    )
    playbook: str = option(
        TomlTable.text, "", "The playbook of its checks; else that of [check].", like='"node-health"'
    )
    channel: str = option(TomlTable.text, "", "Where its card goes; else alerts_channel.", like='"C012AB3CD"')
    mode: str = option(one_of("read-only", "remedies"), "remedies", '"read-only" offers no plan.')
