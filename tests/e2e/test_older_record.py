"""A bot that is started on a record of before carries every incident of it on to its end."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import sqlite3
import subprocess
from collections import Counter
from pathlib import Path

from tests import program
from tests.slack.service import Readings, eventually, serving
from tests.slack.workspace import workspace

ROOT = Path(__file__).parents[2]
VERSION_6 = ROOT / "tests" / "contract" / "ledger-v6.sql"
# Written by 0.1.0: a reboot that cured, a decline, a plan and an undo that wait, a mute, a wave of three, the brake.
RELEASED = ROOT / "tests" / "record" / "ledger-0.1.0.sql.gz"


async def test_incidents_of_an_older_program_go_on(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "zombie.db", isolation_level=None)) as plain:
        plain.executescript(VERSION_6.read_text())
    async with workspace() as slack, serving(slack, tmp_path, Readings()) as bot:

        async def still_open() -> list[str]:
            return sorted(f"{line.node} {line.state}" for line in await bot.ledger.incidents(only_open=True))

        none: list[str] = []
        await eventually(still_open, none, within=30)
        ended = Counter(line.state.value for line in await bot.ledger.incidents())
        kinds = {line.node: line.state.value for line in await bot.ledger.incidents()}
    assert kinds["node-left"] == "triaged", "its verdict stood, and what became of its plan is said"
    assert {kinds[f"node-{source}"] for source in ("pagerduty", "alertmanager", "grafana")} == {"triaged"}
    assert kinds["node-proposed"] == "expired"
    assert ended.total() == 17


def test_record_of_the_first_release_is_read_verified_and_gone_on_with(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "zombie.db", isolation_level=None)) as plain:
        plain.executescript(gzip.decompress(RELEASED.read_bytes()).decode())

    def zombie(*words: str) -> subprocess.CompletedProcess[str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith(("ZOMBIE_", "SUDO_"))}
        environ = own | {"ZOMBIE_STATE_DIR": str(tmp_path), "SUDO_USER": "bob"}
        return program.zombie(*words, cwd=tmp_path, env=environ)

    (tmp_path / "zombie.toml").write_text('[policy]\nterminal_approvers = ["bob"]\n[act]\nunits = ["ecs.service"]\n')
    (tmp_path / "inventory.toml").write_text('[nodes.waiting]\naddress = "127.0.0.1"\n')
    whole = zombie("audit", "verify")
    assert re.match(r"whole: \d+ entries, 8 incidents", whole.stdout), whole
    listed = json.loads(zombie("incidents", "--json").stdout)
    states = {f"{line['node']}{' undo' if 'undo' in line['source']['id'] else ''}": line["state"] for line in listed}
    waves = dict.fromkeys(("wave-1", "wave-2", "wave-3"), "resolved")
    waiting = {"waiting": "proposed", "undone undo": "proposed"}
    assert states == {"cured": "resolved", "declined": "declined", "undone": "resolved"} | waves | waiting
    (wave,) = json.loads(zombie("wave", "--json").stdout)["waves"]
    assert (wave["state"], [node["turn"] for node in wave["nodes"]]) == ("completed", ["cured"] * 3)
    for line in (line for line in listed if line["node"] in ("cured", "wave-1", "undone")):
        assert [zombie(*words, line["id"]).returncode for words in (("incidents", "show"), ("report",))] == [0, 0]
    (waits,) = (line["id"] for line in listed if line["node"] == "waiting")
    declined = zombie("remediate", waits, "--decline", "--approve-as", "bob", "--reason", "after the upgrade")
    assert declined.returncode == 0, declined
    assert zombie("audit", "verify").returncode == 0
