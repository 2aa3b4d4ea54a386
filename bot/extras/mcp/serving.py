"""Puts together MCP: who calls, what answers, and what serves it, with the bot or alone."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bot.actions import ACTIONS
from bot.app.check import triage_of
from bot.app.factories import incident_id, library, now, ssh_transport
from bot.app.json_log import JsonLog
from bot.app.stores import open_stores
from bot.app.version import program_name
from bot.domain.alert import MCP, SLACK
from bot.domain.contracts import Log
from bot.domain.errors import SettingsError
from bot.extras.cases.explaining import Explainer
from bot.extras.mcp.answers import Asker, ToolAnswers
from bot.extras.mcp.settings import McpSettings
from bot.extras.mcp.tools import PATH, Toolbox
from bot.inventory import Inventory
from bot.ledger import CaseStore, Ledger
from bot.library import Library
from bot.response.diagnosis.scheduler import AT_ONCE, CheckScheduler
from bot.settings import Settings
from bot.surfaces.web import WebEdge
from bot.view.plan_words import PlanWords

if TYPE_CHECKING:
    from bot.app.bot import Bot
    from bot.extras.mcp.http import McpEndpoint

UNNAMED = Asker(f"{MCP}:token")  # the token's holder, where the settings name nobody


def asker_of(settings: Settings) -> Asker:
    """Return the person to whom the token belongs.

    Raises: SettingsError when the policy does not let them ask.
    """
    named, asker = settings.policy.askers, settings.of(McpSettings).asker
    members = [who for who in named if not who.startswith("S")]
    if asker and named and asker not in named:
        raise SettingsError(
            f"[mcp] asker is {asker}, whom [policy] askers does not name.",
            "Name them there too; the members of a group are not known here.",
        )
    if not asker and len(members) == 1:
        asker = members[0]
    if not asker and named:
        raise SettingsError(
            "ZOMBIE_MCP_TOKEN is set, but its owner is not known: [policy] askers does not name exactly one member.",
            'Name its owner in zombie.toml: [mcp] asker = "U012AB3CD"',
        )
    return Asker(f"{SLACK}:{asker}") if asker else UNNAMED


def toolbox_of(
    settings: Settings,
    known: Inventory,
    playbooks: Library,
    scheduler: CheckScheduler,
    asker: Asker,
    ledger: Ledger | None,
    cases: CaseStore | None,
    log: Log,
) -> Toolbox:
    """Return the tools, over this program's reader and record."""
    answers = ToolAnswers(
        asker,
        scheduler,
        known,
        playbooks,
        PlanWords(ACTIONS),
        now,
        incident_id,
        Explainer(playbooks),
        ledger,
        cases,
    )
    said = settings.of(McpSettings)
    return Toolbox(answers, log, time.monotonic, said.calls, said.nodes_per_call)


def lone_toolbox(
    settings: Settings,
    known: Inventory,
    asker: Asker,
    ledger: Ledger | None,
    cases: CaseStore | None,
    environment: Mapping[str, str],
    log: Log,
) -> Toolbox:
    """Return the tools of a program that only serves MCP: it reads nodes by itself."""
    triage = triage_of(settings, ssh_transport(environment), ledger, program_name())
    at_once = settings.parallel or AT_ONCE
    scheduler = CheckScheduler(triage.diagnose, log, at_once, at_once)
    playbooks = library(settings.playbooks, settings.playbook)
    return toolbox_of(settings, known, playbooks, scheduler, asker, ledger, cases, log)


def endpoint_of(toolbox: Toolbox, token: str) -> McpEndpoint:
    """Return the endpoint; loads the official package.

    Raises: SettingsError when it is not installed.
    """
    try:
        from bot.extras.mcp.http import McpEndpoint
    except ImportError as no:
        raise not_installed() from no
    return McpEndpoint(toolbox, token)


def not_installed() -> SettingsError:
    """Return the error for a missing official package."""
    return SettingsError("The package mcp is not installed.", "pip install 'zombie-bot[mcp]'")


def serving(bot: Bot) -> McpEndpoint | None:
    """Return MCP for `serve`; None where no token is set.

    Raises: SettingsError when the token's owner may not ask, or the package is not installed.
    """
    said = bot.settings.of(McpSettings)
    if not said.token:
        return None
    asker = asker_of(bot.settings)
    toolbox = toolbox_of(
        bot.settings,
        bot.known,
        bot.playbooks,
        bot.check_service.scheduler,
        asker,
        bot.stores.ledger,
        bot.stores.case_store,
        bot.log,
    )
    bot.log("mcp_on", path=PATH, asker=asker.by)
    return endpoint_of(toolbox, said.token)


def serving_alone(
    settings: Settings, known: Inventory, database_url: str, environment: Mapping[str, str]
) -> int | None:
    """Serve only /mcp, where no chat is set up: without one nobody would see alerts' incidents. None without a token.

    Raises: as `serving`; LedgerUnavailable when the record cannot be opened.
    """
    if not settings.of(McpSettings).token:
        return None
    json_log = JsonLog(secrets=settings.secrets)
    with json_log.library_logs(), open_stores(database_url, settings.retention.deliveries) as kept:
        json_log.log("slack_off", because="no Slack token is set: only /mcp is served, and no alerts are accepted")
        toolbox = lone_toolbox(
            settings, known, asker_of(settings), kept.ledger, kept.case_store, environment, json_log.log
        )
        asyncio.run(serve_alone(settings, toolbox, json_log, settings.listen))
    return 0


async def serve_alone(settings: Settings, toolbox: Toolbox, json_log: JsonLog, listen: str) -> None:
    """Serve /mcp, /healthz and /readyz alone, until SIGTERM or Ctrl-C.

    Raises: SettingsError when the address cannot be used, or the package is not installed.
    """
    endpoint, stopping = endpoint_of(toolbox, settings.of(McpSettings).token), asyncio.Event()
    loop = asyncio.get_running_loop()
    json_log.log_task_failures(loop)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)

    async def not_ready_reason() -> str:
        return "stopping" if stopping.is_set() else ""

    web = WebEdge(listen, not_ready_reason, endpoint.posts, log=json_log.log)
    await endpoint.start()
    try:
        json_log.log("listening", address=await web.start(), path=PATH)
        await stopping.wait()
    finally:
        json_log.log("stopping")
        await endpoint.stop()
        await web.stop()
