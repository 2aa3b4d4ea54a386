"""What acting is made of, put together from the settings in force: for a terminal, and for whoever serves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bot.actions import ACTIONS
from bot.app.check import DEADLINE_BEYOND_WINDOW
from bot.app.kubernetes import cluster_reach, draining
from bot.app.parts import library, now, runner_name, ssh_key, ssh_transport
from bot.domain.batch import Sampling
from bot.domain.contracts import ActingLedger, ActingTransport
from bot.domain.errors import MissingFile, SettingsError
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.protected import is_protected
from bot.domain.verdict import Verdict
from bot.inventory import Inventory
from bot.library import Library
from bot.response.cluster import ClusterReach
from bot.response.diagnosis.proposal import Proposer
from bot.response.diagnosis.triage import Triage
from bot.response.glance import Glance
from bot.response.policy import Policy
from bot.response.reach import Reach
from bot.response.record import Record
from bot.response.remediation import Remediation
from bot.response.responder import Responder
from bot.response.stepping import Stepping
from bot.response.timing import SteadyClock
from bot.settings import Settings

SLACK_HOSTS = ("slack.com", "slack-gov.com")
SIMULATED = frozenset({"demo", "lab"})  # the labels of nodes that are nobody's
SHORT_LOOK = Sampling(1)  # what shows the same in a second need not be looked at for longer


@dataclass(frozen=True, slots=True)
class Playbooks:
    """The playbooks there are; no name stands for the usual one."""

    library: Library
    usual: str

    def get(self, name: str = "", /) -> Playbook:
        """Return the playbook of that name. Raises: PlaybookError when there is none."""
        return self.library.get(name or self.usual)


@dataclass(frozen=True, slots=True)
class Acting:
    """Everything that acts, over one ledger."""

    policy: Policy
    proposer: Proposer
    responder: Responder
    remediation: Remediation
    cluster: ClusterReach
    triage: Triage
    playbooks: Playbooks


def acting(
    settings: Settings,
    known: Inventory,
    ledger: ActingLedger,
    environment: Mapping[str, str],
    validation: timedelta | None = None,
    runner: str = "",
) -> Acting:
    """Put it together; `validation` takes the place of the settings' window for one run, `runner` names who acts.

    Raises: SettingsError when a table of the settings names what is not there.
    """
    policy, clock = policy_of(settings, known), SteadyClock(now, time.monotonic)
    transport = ssh_transport(environment)
    login = acting_login(settings, environment) if policy.acting else {}
    cluster, drains = cluster_reach(settings, environment), draining(settings)
    reach = Reach(transport, ACTIONS, lambda node: replace(node, **login) if login else node, cluster, drains)
    book = Record(ledger)
    playbooks, triage = Playbooks(library(settings.playbooks), settings.playbook), _triage(settings, transport)
    glance = Glance(
        reach,
        (replace(triage, sampling=SHORT_LOOK), triage),
        playbooks,
    )

    async def diagnose(node: Node, playbook: str) -> Verdict:
        return await triage.diagnose(node, playbooks.get(playbook))

    proposer = Proposer(policy, reach, ledger, known, str(login.get("user", "")))

    stepping = Stepping(policy, ledger, reach, known, clock, asyncio.sleep, runner or runner_name())
    return Acting(
        policy,
        proposer,
        Responder(policy, book, ledger, reach, known, diagnose, clock, glance),
        Remediation(book, stepping, known, diagnose, validation),
        cluster,
        triage,
        playbooks,
    )


def policy_of(settings: Settings, known: Inventory) -> Policy:
    """Return the policy in force.

    Shape: with another Slack than Slack's own, whoever stands in for it could say yes in anybody's name. There acting
    is off, unless the settings say `acting = true` in so many words, or every node is the demo's or the lab's.
    """
    policy = Policy.of(settings.tables, len(known.nodes))
    host = urlsplit(str(settings.get("slack_api_url"))).hostname or ""
    is_slack = host in SLACK_HOSTS or host.endswith(tuple(f".{one}" for one in SLACK_HOSTS))
    is_written = settings.tables.get("policy", {}).get("acting") is True
    is_ours = bool(known.nodes) and all(SIMULATED & node.labels.keys() for node in known.nodes)
    return policy if is_slack or is_written or is_ours else replace(policy, acting=False)


def acting_login(settings: Settings, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return user and key of the login that acts, where it has its own.

    Raises: SettingsError when its key is not there, is open to others, or cannot be used as it is.
    """
    told = settings.tables.get("ssh", {}).get("act", {})
    login: dict[str, Any] = {"user": told["user"]} if "user" in told else {}
    if "key" in told:
        config = settings.get("config")
        folder = config.absolute().parent if config is not None else Path.cwd()
        home = Path(environment.get("HOME") or Path.home())
        written = str(told["key"])
        login["key"] = home / written[2:] if written.startswith("~/") else folder / written
        try:
            ssh_key(login["key"], environment)
        except MissingFile as no:
            raise SettingsError(f"The key of [ssh.act] cannot be used: {no.sentence}", no.try_next) from no
    return login


def acting_rights(settings: Settings) -> tuple[tuple[str, ...], ...]:
    """Return what acting may run as root: each unit stopped in each way and brought back, and what playbooks offer."""
    units = sorted(unit for unit in Policy.of(settings.tables).units if not is_protected((unit,)))
    if not units:
        return ()
    books = library(settings.playbooks).playbooks
    offered = {action for book in books for used in book.causes for action in used.remedy}
    of_units = [argv for unit in units for name in _OF_UNITS for argv in _rights(name, unit)]
    of_nodes = [argv for name in _OF_NODES if name in offered for argv in _rights(name, "")]
    return (*of_units, *of_nodes)


_OF_UNITS, _OF_NODES = ("disable_unit", "mask_unit", "restore_unit"), ("reboot", "drop_caches")


def _rights(action: str, unit: str) -> tuple[tuple[str, ...], ...]:
    return ACTIONS[action].rights({"unit": unit})


def _triage(settings: Settings, transport: ActingTransport) -> Triage:
    sampling = Sampling(settings.samples)
    deadline = settings.deadline or sampling.window + DEADLINE_BEYOND_WINDOW
    return Triage(transport, ACTIONS, now, sampling, deadline, draining=draining(settings))
