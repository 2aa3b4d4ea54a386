"""The demo, put together: the same check as any, pointed at simulated nodes or at the lab's."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path

from bot.actions import ACTIONS
from bot.app.books import books
from bot.app.check import DEADLINE_BEYOND_WINDOW, Check, check
from bot.app.demo_pagerduty import demo_pagerduty, environment_of
from bot.app.journal import Journal
from bot.app.parts import DEFAULT_PLAYBOOK, inventory, library, now, ssh_transport
from bot.app.serve import slack_tokens
from bot.app.service import Service
from bot.app.watching import shown_progress, terminal_width
from bot.demo.cluster.of_fleet import SETTINGS
from bot.demo.slack.people import ALERTS, GROUPS
from bot.demo.slack.server import SlackWorkspace
from bot.demo.story import Stage, tell
from bot.domain.batch import Sampling
from bot.domain.verdict import Verdict
from bot.settings import Settings
from bot.surfaces.document import document
from bot.surfaces.text import headline, verdict_text
from bot.surfaces.view.plan_words import PlanWords

# Whoever is on call may approve, and not what they asked for themselves. The windows are short, to be watched.
POLICY = f"""\
[slack]
alerts_channel = "{ALERTS.id}"
[policy]
acting = true
approver_groups = ["{GROUPS[0].id}"]
[act]
units = ["ecs.service", "metrics-shipper.service"]
max_nodes_at_once = 6
validation = "20s"
reboot_deadline = "30s"
{SETTINGS}"""


def demo(samples: int, command: str) -> int:
    """Run the demo in the terminal and return the exit status; `command` is how the program is called."""
    return tell(stage(samples, command))


def stage(samples: int, command: str, beyond_window: timedelta = DEADLINE_BEYOND_WINDOW, policy: str = POLICY) -> Stage:
    """Return what the story needs; `beyond_window` is how long after it a node may take, `policy` what the bot may."""
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    playbook = library().get(DEFAULT_PLAYBOOK)

    async def look(path: Path, names: Sequence[str]) -> Sequence[Verdict]:
        known = inventory(path, os.environ)
        nodes = tuple(map(known.find, names)) or tuple(known.nodes)
        sampling = Sampling(samples)
        deadline = sampling.window + beyond_window
        what = Check(nodes, playbook, ssh_transport(os.environ), sampling, deadline, len(nodes))
        verdicts: dict[str, Verdict] = {}
        async with shown_progress() as (heard, clear):

            def concluded(verdict: Verdict) -> None:
                verdicts[verdict.node] = verdict
                clear()
                print(headline(verdict, colour), flush=True)

            await check(what, heard, concluded)
        return [verdicts[node.name] for node in nodes if node.name in verdicts]

    return Stage(
        check=look,
        whole=lambda verdict: verdict_text(verdict, min(100, terminal_width()), colour, PlanWords(ACTIONS)),
        document=document,
        clock=now,
        write=lambda text: print(text, end="", flush=True),
        ask=input,
        command=command,
        beside=lambda nodes: _slack_beside(nodes, policy),
        stays=not sys.stdin.isatty(),
    )


@asynccontextmanager
async def _slack_beside(nodes: Path, policy: str) -> AsyncIterator[str]:
    """Run the bot in a simulated Slack workspace, over the nodes of an inventory; yields what to do there."""
    folder = nodes.parent
    known = inventory(nodes, os.environ)
    with ExitStack() as stack:
        log = stack.enter_context((folder / "bot.log").open("w", encoding="utf-8"))
        kept = stack.enter_context(books(f"sqlite:///{folder / 'demo.db'}"))
        async with (
            SlackWorkspace.start(clock=now, random_bytes=os.urandom) as slack,
            demo_pagerduty(known.nodes) as (pagerduty, subscription),
        ):
            environment = {
                "HOME": str(folder),
                "SLACK_BOT_TOKEN": slack.bot_token,
                "SLACK_APP_TOKEN": slack.app_token,
                "SLACK_API_URL": slack.api_url,
                "ZOMBIE_LISTEN": "127.0.0.1:0",
                **environment_of(pagerduty, subscription),
            }
            (folder / "zombie.toml").write_text(policy)
            settings = Settings.load({}, environment, folder)
            service = Service(
                settings,
                known,
                slack_tokens(settings),
                kept,
                environment,
                Journal(log),
            )
            await service.start()
            subscription.url = f"{service.address}/pagerduty"
            try:
                yield (
                    f"\nA Slack workspace with the bot in it, in your browser:\n  {slack.page_url}\n"
                    f"There, in #oncall-gpu, type:\n  /zombie check {known.names[0]}\n"
                    "A PagerDuty beside it: fire an alert there, then look at its note and at #alerts in Slack:\n"
                    f"  {pagerduty.page_url}\n\n"
                )
            finally:
                await service.stop()
