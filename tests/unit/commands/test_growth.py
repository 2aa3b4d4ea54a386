"""`zombie growth` as it is typed: which nodes it takes."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.__main__ import main
from bot.domain.growth import CountSample
from bot.ledger import Database, ReadingStore

CAUSE = "leaked-memory-cgroups"
INVENTORY = """
[nodes.gpu-1]
address = "10.0.0.1"
labels = { role = "gpu" }
[nodes.web-1]
address = "10.0.0.3"
labels = { role = "web" }
[nodes.ci-1]
address = "10.0.0.4"
labels = { role = "ci" }
"""


@pytest.fixture(autouse=True)
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path / 'zombie.db'}"
    monkeypatch.setenv("ZOMBIE_DATABASE_URL", url)
    for name in ("ZOMBIE_CONFIG", "ZOMBIE_INVENTORY", "ZOMBIE_PLAYBOOKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inventory.toml").write_text(INVENTORY)
    begun = datetime(2026, 11, 22, 3, tzinfo=UTC)
    with Database.open(url) as database:
        store = ReadingStore(database)
        for node in ("gpu-1", "web-1", "gone-1"):
            for hour in range(3):
                store.keep(node, CAUSE, CountSample(begun + timedelta(hours=hour), 1_000.0 * (hour + 1), "boot"))


@pytest.mark.parametrize(
    ("words", "nodes"),
    [
        (["role=gpu"], {"gpu-1"}),
        (["role=gpu", "gone-*"], {"gpu-1", "gone-1"}),  # what left the inventory keeps its counts
        (["role=gpu", "role=web"], {"gpu-1", "web-1"}),
        ([], {"gpu-1", "web-1", "gone-1"}),
    ],
)
def test_labels_mean_nodes_of_the_inventory_and_names_those_of_the_record(
    words: list[str], nodes: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["growth", *words, "--json"]) == 0
    assert {node["node"] for node in json.loads(capsys.readouterr().out)["nodes"]} == nodes


@pytest.mark.parametrize(
    ("word", "says"),
    [("role=ci", "There are no counts of “role=ci”"), ("role=nope", "role is"), ("a b", "does not say which nodes")],
)
def test_what_means_no_counted_node_is_told(word: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["growth", word]) == 2
    assert says in capsys.readouterr().err
