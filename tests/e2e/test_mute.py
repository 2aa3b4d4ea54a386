"""A cause that is muted, on a simulated node reached by real SSH: found and shown, and nothing is offered for it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from bot.demo.fleet_leaks import AUTO_RESTART
from tests.nodes.acting_fleet import Site, site

pytestmark = pytest.mark.slow
CAUSE = "leaked-memory-cgroups"


async def checked(here: Site, *more: str) -> dict[str, Any]:
    done = await here.zombie("check", "node", "--json", *more)
    assert done.status == 1, done.err
    node: dict[str, Any] = json.loads(done.out)["nodes"][0]
    return node


async def test_muted_cause_is_shown_as_muted_is_offered_no_plan_and_an_open_plan_is_not_approved_any_more(
    tmp_path: Path,
) -> None:
    async with site(tmp_path, {"node": (AUTO_RESTART, None)}) as here:
        before = await checked(here, "--open")
        assert (before["cause"], "muted" in before, before["plan"] is None) == (CAUSE, False, False)
        assert (await here.kinds(before["incident"]))[-1] == "PlanProposed"

        muted = await here.zombie("mute", CAUSE, "no*", "--for", "7d", "--reason", "<!channel> replaced", login="ann")
        assert muted.status == 0, muted.err
        now = await checked(here, "--open")
        with sqlite3.connect(here.folder / "state" / "zombie.db") as record:  # what later checks are compared with
            assert record.execute("SELECT node, healthy FROM node_facts_v1").fetchall() == [("node", 0), ("node", 0)]
        assert [now[name] for name in ("status", "cause", "confidence")] == [
            before[name] for name in ("status", "cause", "confidence")
        ]
        assert now["plan"] is None
        assert now["muted"].pop("until")
        assert now["muted"] == {
            "cause": CAUSE,
            "selector": "no*",
            "reason": "<!channel> replaced",
            "by": "terminal:ann",
        }
        assert await here.kinds(now["incident"]) == ["AlertReceived", "Triaged"]  # opened all the same
        shown = await here.zombie("incidents", "show", now["incident"])
        assert f"node: CRITICAL, {CAUSE} (confirmed, muted)" in shown.out
        assert f"{CAUSE} is muted until " in shown.out

        refused = await here.remediate(before["incident"])
        assert refused.status == 1
        assert here.machine("node").done == []

        assert (await here.zombie("unmute", CAUSE, "no*")).status == 0
        again = await checked(here)
        assert ("muted" in again, again["plan"]) == (False, before["plan"])
