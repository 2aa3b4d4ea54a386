"""A Kubernetes node in Slack: what would move is on the card and in the dialog before anybody says yes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.demo.cluster.pod import Budget
from tests.e2e.test_drain import KUBERNETES, NAME, cluster, worker
from tests.e2e.test_slack_story import LONG, POLICY, card, serving
from tests.slack.workspace import SlackWorkspace, workspace

pytestmark = pytest.mark.slow


async def test_pods_and_their_job_are_seen_before_the_yes_and_moved_after_it(tmp_path: Path) -> None:
    async with (
        workspace() as slack,
        cluster(tmp_path, worker(budgets=(Budget("ray", refuses=3),), empty_dirs=("scratch",))) as (here, server),
    ):
        (tmp_path / "zombie.toml").write_text(POLICY + KUBERNETES)
        bot = await serving(slack, here)
        await slack.say("alice", "oncall-gpu", "/zombie check node")
        offer = await card(slack, "node", "leaked-memory-cgroups", button="approve")
        moved = "ray/worker-0: Ray cluster train-7; loses emptyDir scratch"
        assert moved in json.dumps(offer.blocks)
        assert f"drain {NAME} prod, then reboot, then uncordon {NAME} prod" in json.dumps(offer.blocks)
        await slack.click("bob", offer, "approve")
        view = await slack.until(lambda: slack.modal("bob"), what="the dialog")
        shown = str(view.blocks)
        assert moved in shown
        assert f"PATCH /api/v1/nodes/{NAME}" in shown
        assert f"no new pods come to {NAME}, and those that are there are evicted, within 1m" in shown
        assert server.cluster.patched == []
        await slack.submit("bob", view, {"reason": "it leaks"})
        held = "As of now: ray/worker-0: 429 Cannot evict pod as it would violate the pod's disruption budget."
        await slack.until(lambda: _is_shown(slack, held), LONG, what=held)
        await card(slack, "Resolved: node")
        assert server.cluster.evicted == ["ray/worker-0"]
        assert server.cluster.patched == [f"{NAME} unschedulable=True", f"{NAME} unschedulable=None"]
        assert here.machine("node").done == ["disable ecs.service", "reboot"]
        assert await bot.end() == 0
        told = {line["event"] for line in bot.lines}
        assert not told & {"show_failed", "advance_failed", "wish_failed", "task_failed", "slack_worker_failed"}


def _is_shown(slack: SlackWorkspace, words: str) -> bool:
    return any(words in json.dumps(one.blocks) for one in slack.messages("oncall-gpu"))
