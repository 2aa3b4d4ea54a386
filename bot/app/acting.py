"""Puts together the parts for acting, from the settings in force: for a terminal and for `serve`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from bot.actions import ACTIONS
from bot.app.check import triage_of
from bot.app.factories import SteadyClock, library, now, runner_name, ssh_key, ssh_transport
from bot.app.kubernetes import cluster_access, draining
from bot.app.policy_settings import policy_of
from bot.app.version import program_name
from bot.domain.batch import Sampling
from bot.domain.errors import MissingFile, SettingsError
from bot.domain.node import Node
from bot.domain.policy import Policy
from bot.domain.protected import is_protected
from bot.domain.verdict import Verdict, without_secrets
from bot.inventory import Inventory
from bot.ledger import CaseStore, Ledger
from bot.library import Library
from bot.response.decision.preflight import Preflight
from bot.response.decision.recheck import Recheck
from bot.response.decision.responder import Responder
from bot.response.diagnosis.proposal import Proposer
from bot.response.diagnosis.triage import Triage
from bot.response.execution.before_reboot import PreRebootReader
from bot.response.execution.cluster_calls import ClusterAccess
from bot.response.execution.node_access import NodeAccess
from bot.response.execution.remediation import Remediation
from bot.response.execution.step_executor import StepExecutor
from bot.response.execution.sudoers import sudo_rights
from bot.response.incident_record import IncidentRecord
from bot.settings import Settings

SHORT_LOOK = Sampling(1)  # what shows the same in a second need not be read for longer


@dataclass(frozen=True, slots=True)
class Acting:
    """Everything that acts, over the same ledger."""

    policy: Policy
    proposer: Proposer
    responder: Responder
    remediation: Remediation
    cluster: ClusterAccess
    triage: Triage
    playbooks: Library


def acting(
    settings: Settings,
    known: Inventory,
    ledger: Ledger,
    environment: Mapping[str, str],
    validation: timedelta | None = None,
    runner: str = "",
    cases: CaseStore | None = None,
) -> Acting:
    """Put it together; `validation` replaces the settings' window for a run, `runner` names who acts.

    Shape: `cases` stores what a reboot would destroy; None: nothing is stored.

    Raises: SettingsError when the settings name something unknown.
    """
    policy, clock = policy_of(settings, known), SteadyClock(now, time.monotonic)
    transport = ssh_transport(environment)
    login = acting_login(settings, environment) if policy.acting else {}
    cluster, drains = cluster_access(settings, environment), draining(settings)
    reach = NodeAccess(transport, ACTIONS, lambda node: replace(node, **login) if login else node, cluster, drains)
    record = IncidentRecord(ledger)
    playbooks = library(settings.playbooks, settings.playbook)
    triage = triage_of(settings, transport, ledger, program_name())
    recheck = Recheck(reach, (replace(triage, sampling=SHORT_LOOK), triage), playbooks)

    async def diagnose(node: Node, playbook: str) -> Verdict:
        return without_secrets(await triage.diagnose(node, playbooks.get(playbook)))

    proposer = Proposer(policy, reach, ledger, known, str(login.get("user", "")), now)
    before_reboot = PreRebootReader(transport, cases, clock, program_name()) if cases is not None else None
    name, preflight = runner or runner_name(), Preflight(reach, known, recheck)
    stepping = StepExecutor(
        policy, ledger, reach, known, clock, asyncio.sleep, name, before_reboot, recheck.read_reboot_impact, preflight
    )
    return Acting(
        policy,
        proposer,
        Responder(policy, record, ledger, reach, known, preflight, clock),
        Remediation(record, stepping, known, diagnose, validation),
        cluster,
        triage,
        playbooks,
    )


def acting_login(settings: Settings, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return user and key of the login that acts, if it is a separate login.

    Raises: SettingsError when its key is missing, readable by others, or unusable.
    """
    said = settings.acting_login
    login: dict[str, Any] = {"user": said.user} if said.user else {}
    if said.key is not None:
        login["key"] = said.key
        try:
            ssh_key(said.key, environment)
        except MissingFile as no:
            raise SettingsError(
                f"The key of [ssh.act] in zombie.toml cannot be used: {no.sentence}", no.try_next
            ) from no
    return login


def acting_rights(settings: Settings) -> tuple[tuple[str, ...], ...]:
    """Return what acting may run as root: all that can be done with the named units, and what playbooks offer.

    Shape: for units that may only be started, only their start.
    """
    starts = sorted(settings.act.start_units)
    if not settings.act.units and not starts:
        return ()
    playbooks = library(settings.playbooks).playbooks  # from then on a site's own protected units are known
    units = sorted(unit for unit in settings.act.units if not is_protected((unit,)))
    if not units and not starts:
        return ()
    offered = (
        {action for record in playbooks for used in record.causes for action in used.remedy} if units else set[str]()
    )
    return sudo_rights(ACTIONS.values(), units, offered, starts)
