"""A rolling capture of the demo's founding node, in a terminal: begun, shown, stopped, by one program each."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.demo.fleet import FLEET, Fleet, running
from tests import program
from tests.e2e.test_slack_check import FOUNDING


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    members = [member for member in FLEET if member.name == FOUNDING]
    async with running(members, tmp_path, lambda: datetime.now(UTC)) as started:
        yield started


async def zombie(fleet: Fleet, folder: Path, *words: str) -> tuple[int, str]:
    own = program.environment(folder, ZOMBIE_INVENTORY=str(fleet.inventory))
    done = await program.awaited("capture", *words, cwd=folder, env=own, within=60)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.long
async def test_start_list_show_stop(fleet: Fleet, tmp_path: Path) -> None:
    code, said = await zombie(fleet, tmp_path, "start", FOUNDING, "--for", "1h", "--around", "core-held")
    assert code == 0, said
    assert f"records on {FOUNDING} until" in said
    capture = said.split()[1]
    code, said = await zombie(fleet, tmp_path, "start", FOUNDING, "--for", "1h")
    assert code == 1
    assert "NodeBusy" in said
    code, said = await zombie(fleet, tmp_path, "start", FOUNDING, "--for", "7h")
    assert code == 2
    assert "1, 6, 12 or 24 hours" in said

    async def recorded(least: float) -> dict[str, Any]:
        async with asyncio.timeout(60):
            while True:
                code, said = await zombie(fleet, tmp_path, "show", capture, "--json")
                assert code == 0, said
                found: dict[str, Any] = json.loads(said)
                if (found["recorded_seconds"] or 0) > least:
                    return found

    shown = await recorded(8)
    assert shown["state"] == "running"
    assert 0 < shown["load_percent"] < 1
    code, said = await zombie(fleet, tmp_path, "stop", capture, "--out", str(tmp_path / "kept"))
    assert code == 0, said
    assert "core 39 ran kubelet" in said
    assert "mem_cgroup_nr_lru_pages" in said
    assert "of one core" in said
    assert list((tmp_path / "kept").glob("*.perf.txt.gz"))
    code, said = await zombie(fleet, tmp_path, "list")
    assert f"{capture}  {FOUNDING}  ended: " in said
    assert "Left on the node" not in said
