"""What others tell an engine before or while it runs, and what it says that incidents wait for."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from bot.domain.contracts import AdvanceLater
from bot.engine import Engine, NoticeBoard
from tests.record.engine_runner import HandedLeases, World, never, settled


async def test_what_is_told_reaches_the_engine_and_what_it_waits_for_is_known() -> None:
    world, notices, advanced, shown = World(), NoticeBoard(), list[str](), list[str]()

    class Wall:
        async def show(self, group: Any) -> None:
            shown.append(group[0].id)

    async def advance(incident: str) -> AdvanceLater:
        advanced.append(incident)
        return AdvanceLater(timedelta(days=1), "the node is held")

    def log(event: str, **_: Any) -> None: ...

    leases: Any = HandedLeases(world, "a")
    ledger: Any = world
    engine = Engine(advance, ledger, leases, world, (Wall(),), log, world.clock, never, notices)
    world.put("decided")
    world.put("changed")
    world.leases |= {"decided": "b", "changed": "gone"}
    notices.decided("decided")
    assert notices.waits_for("decided") == ""
    engine.start()
    await settled()
    assert ("decided" in advanced, world.leases["decided"]) == (True, "a"), "also what was told before it began"
    assert notices.waits_for("decided") == "the node is held"
    notices.changed("changed")
    await settled()
    assert {"decided", "changed"} <= set(shown)
    world.put("decided", ended=True)
    await engine.tick()
    assert notices.waits_for("decided") == "", "it waits for nothing any more"
    await engine.leave()
