"""What of a playbook nothing would miss is told, and nothing else: every recorded node is looked at."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from bot.__main__ import main
from bot.app.parts import library
from bot.app.unmissed import unmissed
from tests.contract.test_why import CAPTURES, CASES

HEALTHY = CAPTURES / "nodes" / "debian-12--healthy.jsonl.gz"
LEAKED = CAPTURES / "nodes" / "debian-12-v1--leaked-memory-cgroups.jsonl.gz"
PLANTED = """name: mine
extends: node-health
title: Mine
version: 1
conditions:
  - {name: decides, status: critical, says: Many start., when: cgroups.dying > -1}
  - {name: never, status: critical, says: It cannot be., when: cgroups.dying < -5}
  - {name: on-a-change, status: degraded, says: Some are dying., when: cgroups.dying > 500}
  - {name: said-already, status: degraded, says: Many are dying., when: cgroups.dying > -2}
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without settings."""
    monkeypatch.chdir(tmp_path)


def planted() -> Path:
    Path("mine").mkdir()
    Path("mine/m.yaml").write_text(PLANTED)
    return Path("mine")


def test_condition_that_nothing_would_miss_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    cases = [str(HEALTHY), str(LEAKED)]
    assert main(["playbooks", "unmissed", *cases, "--playbooks", str(planted()), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (mine,) = document["playbooks"]
    assert (document["schema"], document["cases"], mine["playbook"]) == (1, 2, "mine")
    assert {"never", "said-already"} <= set(mine["unmissed"]["conditions"])
    assert "decides" not in mine["unmissed"]["conditions"]
    assert "gpu-fault" in mine["unmissed"]["causes"]
    assert main(["playbooks", "unmissed", *cases, "--playbooks", "mine", "-p", "mine"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"mine: of {mine['looked_at']} causes and conditions, ")
    assert out.splitlines()[0].endswith(" no verdict on 2 cases.")
    assert "never" in out


def test_change_of_a_case_counts_as_one_more_case() -> None:
    playbook = library([planted()]).get("mine")
    conditions = tuple(each for each in playbook.conditions if each.name == "on-a-change")
    alone = replace(playbook, causes=(), conditions=conditions)
    (found,) = unmissed([alone], [HEALTHY])
    assert (found.pieces, found.unmissed) == (1, ()), "it does not hold there; with 501 dying it would"


def test_what_is_no_case_ends_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    Path("no.jsonl").write_text("{}\n")
    assert main(["playbooks", "unmissed", "no.jsonl"]) == 2
    assert main(["playbooks", "unmissed", str(HEALTHY), "-p", "none-such"]) == 2
    assert capsys.readouterr().out == ""


def labelled() -> set[str]:
    """The causes that a recorded node was given by hand, as it was recorded."""
    nodes = tomllib.loads((CAPTURES / "nodes" / "verdicts.toml").read_text())["node"]
    return {node["expect"]["cause"] for node in nodes if not node.keys() & {"without", "replace"}} - {""}


@pytest.mark.long
def test_every_cause_that_a_recorded_node_has_would_be_missed() -> None:
    (found,) = unmissed([library().get("node-health")], CASES)
    assert len(labelled()) > 8
    assert labelled().isdisjoint(piece.name for piece in found.unmissed)
