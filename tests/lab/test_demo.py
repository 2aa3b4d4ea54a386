"""`zombie demo --lab`: the demo's story, told of a node with a kernel of its own."""

import subprocess

import pytest

from tests.lab.bench import ROOT, Bench

pytestmark = [pytest.mark.lab, pytest.mark.slow]


def test_demo_boots_a_node_makes_it_sick_tells_its_story_and_leaves_nothing(own: Bench) -> None:
    done = subprocess.run(
        own.argv("demo", "--lab"),
        cwd=ROOT,
        env=own.environment,
        input="nodes\nquit\n",
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stderr
    assert "removed and not freed" in done.stderr, "the fault's own proof"
    assert "ecs.service leaks memory cgroups" in done.stdout
    assert "sudo -n systemctl disable --now -- ecs.service" in done.stdout, "the verdict in full, with its plan"
    assert "/zombie check lab-1" in done.stdout, "and the bot in Slack, over the same node"
    assert [path for path in own.folder.rglob("*") if path.name != f"{own.record}.db"] == []
