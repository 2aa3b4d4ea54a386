"""The demo: an ordinary check, on simulated nodes."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.actions import ACTIONS
from bot.app.bot import Bot
from bot.app.check import DEADLINE_BEYOND_WINDOW, Check, check
from bot.app.extras import shipped
from bot.app.factories import inventory, library, now, ssh_transport
from bot.app.json_log import JsonLog
from bot.app.service import Service
from bot.app.stores import open_stores
from bot.app.terminal_progress import shown_progress, terminal_width
from bot.demo.fleet import CLUSTER_SETTINGS
from bot.demo.pagerduty.page import Suggestion
from bot.demo.pagerduty.server import PagerDuty
from bot.demo.pagerduty.webhooks import Subscription
from bot.demo.session import DemoTools, run_demo
from bot.demo.slack.guide import Guide, Suggested
from bot.demo.slack.people import ALERTS, CHANNELS, GROUPS, USERS
from bot.demo.slack.server import SlackWorkspace
from bot.domain.batch import Sampling
from bot.domain.node import Node
from bot.domain.verdict import Verdict
from bot.response.diagnosis.triage import Triage
from bot.settings import Settings
from bot.surfaces.document import document
from bot.surfaces.slack.tokens import SlackTokens
from bot.surfaces.verdict_text import headline, verdict_text
from bot.view.plan_words import PlanWords

# People on call may approve, but not what they asked for themselves. The windows are short, for watching.
POLICY = f"""\
[slack]
alerts_channel = "{ALERTS.id}"
[policy]
acting = true
approver_groups = ["{GROUPS[0].id}"]
[act]
units = ["ecs.service", "metrics-shipper.service"]
start_units = ["kubelet.service", "containerd.service"]
max_nodes_at_once = 6
validation = "20s"
reboot_deadline = "30s"
{CLUSTER_SETTINGS}"""


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of the two pages on loopback; 0 is any free port."""

    slack: int = 0
    pagerduty: int = 0


def demo(samples: int, command: str, ports: Ports) -> int:
    """Run the demo in the terminal and return the exit status; `command` is how the program is called.

    Raises: OSError when a port is in use.
    """
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    playbook = library().get(Settings().playbook)

    async def look(path: Path, names: Sequence[str]) -> Sequence[Verdict]:
        known = inventory(path, os.environ)
        nodes = tuple(map(known.find, names)) or tuple(known.nodes)
        sampling = Sampling(samples)
        triage = Triage(ssh_transport(os.environ), ACTIONS, now, sampling, sampling.window + DEADLINE_BEYOND_WINDOW)
        what = Check(nodes, playbook, triage, len(nodes))
        verdicts: dict[str, Verdict] = {}
        async with shown_progress() as (heard, clear):

            def concluded(verdict: Verdict) -> None:
                verdicts[verdict.node] = verdict
                clear()
                print(headline(verdict, colour), flush=True)

            await check(what, heard, concluded)
        return [verdicts[node.name] for node in nodes if node.name in verdicts]

    tools = DemoTools(
        check=look,
        full_text=lambda verdict: verdict_text(verdict, min(100, terminal_width()), colour, PlanWords(ACTIONS)),
        document=document,
        clock=now,
        write=lambda text: print(text, end="", flush=True),
        read_line=input,
        command=command,
        extras=lambda nodes: _slack_and_pagerduty(nodes, ports),
        keeps_running=not sys.stdin.isatty(),
    )
    return run_demo(tools)


def _who_approves() -> str:
    """Say who may approve, and what."""
    names = " and ".join(person.name.capitalize() for person in USERS if person.id in GROUPS[0].members)
    return f"{names} may approve, each what the other asked for: the picture at the bottom left changes who you are."


def _guide(names: Sequence[str], pagerduty: str) -> Guide:
    """Return suggestions for a newcomer's first clicks, in the channel of the people on call."""
    return Guide(
        CHANNELS[0].id,
        (
            Suggested(f"/zombie check {names[0]}", "a sick node, and what would help"),
            Suggested(f"/zombie check {' '.join(names[:3])}", "several at once"),
            Suggested("/zombie help", "everything you can ask"),
        ),
        GROUPS[0].members,
        (("the simulated PagerDuty", pagerduty),),
    )


@asynccontextmanager
async def _slack_and_pagerduty(nodes: Path, ports: Ports) -> AsyncIterator[str]:
    """Run the bot with a simulated Slack and PagerDuty, and yield what to do there."""
    folder = nodes.parent
    known = inventory(nodes, os.environ)
    with ExitStack() as stack:
        log = stack.enter_context((folder / "bot.log").open("w", encoding="utf-8"))
        extras = shipped()
        kept = stack.enter_context(open_stores(f"sqlite:///{folder / 'demo.db'}", extras=extras.serving))
        async with (
            SlackWorkspace.start(clock=now, random_bytes=os.urandom, port=ports.slack) as slack,
            demo_pagerduty(known.nodes, ports.pagerduty) as (pagerduty, subscription),
        ):
            environment = {
                "HOME": str(folder),
                "SLACK_BOT_TOKEN": slack.bot_token,
                "SLACK_APP_TOKEN": slack.app_token,
                "SLACK_API_URL": slack.api_url,
                "ZOMBIE_LISTEN": "127.0.0.1:0",
                **environment_of(pagerduty, subscription),
            }
            pagerduty.account.web = f"{pagerduty.api_url}/page"
            links = f'[links]\nPagerDuty = "{pagerduty.account.web}/incidents/{{page}}"\n'
            (folder / "zombie.toml").write_text(f"{POLICY}{links}")
            settings = Settings.load({}, environment, folder, members=extras.settings)
            tokens = SlackTokens.of(*settings.slack.access)
            service = Service(Bot(settings, known, tokens, kept, environment, JsonLog(log), extras=extras.serving))
            await service.start()
            slack.page.guide = _guide(known.names, pagerduty.page_url)
            pagerduty.page.elsewhere = (("Slack", slack.page_url),)
            subscription.url = f"{service.address}/pagerduty"
            try:
                yield (
                    f"\nA Slack workspace with the bot in it, in your browser:\n  {slack.page_url}\n"
                    f"There, in #oncall-gpu, click a suggestion, or type:\n  /zombie check {known.names[0]}\n"
                    f"{_who_approves()}\n"
                    "A simulated PagerDuty: fire an alert there, then look at its note, and at #alerts in Slack:\n"
                    f"  {pagerduty.page_url}\n\n"
                )
            finally:
                await service.stop()


# --- The demo's PagerDuty: the bot's settings for it, and the alerts that can be fired by a click


MANY = 8
NOWHERE = "http://127.0.0.1:9/"  # until the bot has an address


@asynccontextmanager
async def demo_pagerduty(nodes: Sequence[Node], port: int = 0) -> AsyncIterator[tuple[PagerDuty, Subscription]]:
    """Run a PagerDuty while the block runs, with a subscription that later gets the bot's address."""
    async with PagerDuty.start(clock=now, random_bytes=os.urandom, port=port) as pagerduty:
        pagerduty.page.suggestions = suggestions(nodes)
        yield pagerduty, pagerduty.deliver_to(NOWHERE, os.urandom(20).hex())


def environment_of(pagerduty: PagerDuty, subscription: Subscription) -> dict[str, str]:
    """Return the bot's environment for it."""
    return {
        "PAGERDUTY_API_TOKEN": pagerduty.token,
        "PAGERDUTY_API_URL": pagerduty.api_url,
        "PAGERDUTY_EVENTS_URL": pagerduty.events_url,
        "PAGERDUTY_FROM": pagerduty.sender,
        "PAGERDUTY_ROUTING_KEY": pagerduty.routing_key,
        "PAGERDUTY_WEBHOOK_SECRETS": ",".join(subscription.secrets),
    }


def suggestions(nodes: Sequence[Node]) -> tuple[Suggestion, ...]:
    """Return the alerts that can be fired; the first is this project's first case, by its instance id."""
    first = nodes[0]
    named = first.labels.get("instance_id", first.name)
    many = [node.name for node in nodes[:MANY]]
    return (
        Suggestion(
            f"the first case: a core of {first.name} is pinned",
            "A core is pinned in the kernel: training jobs fail",
            {"instance_id": named, "metric": "node_cpu_seconds_total{mode='system'}", "for": "10m"},
        ),
        Suggestion(f"{len(many)} nodes at once", "Training jobs fail on a whole rack", {"nodes": many}),
        Suggestion("an alert that names no node", "Job 4711 failed", {"message": "see the dashboard"}),
    )
