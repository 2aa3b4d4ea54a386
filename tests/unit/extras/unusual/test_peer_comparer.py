"""The facts of checks on record: any bot at the record compares with them, and a verdict waits for none of it."""

from __future__ import annotations

import json
import threading
import zlib
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text, update

from bot.chat.card import node_table
from bot.domain.contracts import Listener
from bot.domain.errors import LedgerUnavailable
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.probe import CustomReading, Snapshot
from bot.domain.verdict import Status, Unusual, Verdict
from bot.extras.fleet.facts import figures_of
from bot.extras.unusual import store as store_module
from bot.extras.unusual.peer_comparer import PeerComparer
from bot.extras.unusual.store import FACTS, KEPT, FactStore
from bot.extras.unusual.unusual_facts import FEWEST_PEERS, NodeFacts
from bot.ledger import Database
from bot.ledger.database import on_thread
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.hardware import HardwareReading, Link
from bot.probes.kernel_log import KernelLogReading
from bot.surfaces.document import node_document
from bot.surfaces.verdict_brief import verdict_brief, verdicts_table
from bot.surfaces.verdict_text import verdict_text
from bot.view.plan_words import BY_NAME
from bot.view.view import verdicts_view
from tests.unit.extras.unusual.fleets import AT

BOOK = Playbook("node-health", "", 1, (), (), ())
SETTINGS = {f"s{number}": "yes" for number in range(40)}
PARTIAL = replace(BOOK, name="image-gate")
on_one = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # nothing of it is a dialect's own


class Clock:
    def __init__(self) -> None:
        self.now = AT

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


class Bot:
    """A program at a record, and what nodes say to it."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.logged: list[str] = []
        log = lambda event, **fields: self.logged.append(event)  # noqa: E731
        self.extra = PeerComparer(FactStore(database), BOOK.name, ("role",), clock, log, patience=60)
        self.status, self.said = Status.HEALTHY, dict(SETTINGS)
        self.more: dict[str, object] = {}

    async def check(self, name: str, role: str = "gpu", playbook: Playbook = BOOK) -> Verdict:
        async def diagnose(node: Node, playbook: Playbook, heard: Listener) -> Verdict:
            reading = CustomReading("sysctl", dict(self.said))
            snapshot = Snapshot(node.name, AT, timedelta(seconds=5), {"sysctl": reading} | self.more)
            return Verdict(node.name, self.status, None, None, "Healthy", snapshot=snapshot)

        node = Node(name, "10.0.0.1", labels={"role": role})
        return await self.extra.beside(diagnose)(node, playbook, lambda _: None)


async def peers(bot: Bot, count: int = FEWEST_PEERS, role: str = "gpu") -> None:
    for number in range(count):
        await bot.check(f"{role}-{number}", role)


async def test_node_is_compared_with_peers_that_another_bot_read(database: Database) -> None:
    clock = Clock()
    one, two = Bot(database, clock), Bot(database, clock)
    await peers(one)
    two.said["s7"] = "no"
    assert (await two.check("odd")).unusual == (Unusual("sysctl.s7", "no", f"yes on its {FEWEST_PEERS} peers"),)
    assert (await two.check("odd", role="web")).unusual == (), "it has no peers there"
    assert (await two.check("odd", playbook=PARTIAL)).unusual == (), "not all causes judged it"


@on_one
async def test_nodes_that_a_sweep_read_are_peers_and_stand_out_as_in_a_check(database: Database) -> None:
    checked, swept = Bot(database, Clock()), Bot(database, Clock())
    await peers(checked, FEWEST_PEERS - 1)
    facts = figures_of(Snapshot("n", AT, timedelta(0), {"sysctl": CustomReading("sysctl", dict(SETTINGS))}))
    for number in range(FEWEST_PEERS):
        await swept.extra.keep(Node(f"swept-{number}", "10.0.0.1", labels={"role": "web"}), number > 0, facts)
    checked.said["s7"] = "no"
    assert (await checked.check("odd", role="web")).compared == "", "one of them is sick"
    await swept.extra.keep(Node("swept-0", "10.0.0.1", labels={"role": "web"}), True, facts)
    odd = await checked.check("odd", role="web")
    assert odd.unusual == (Unusual("sysctl.s7", "no", f"yes on its {FEWEST_PEERS} peers"),)
    await swept.extra.close()
    await swept.extra.keep(Node("late", "10.0.0.1"), True, facts)
    assert swept.logged == ["unusual_not_stored"]


@on_one
async def test_that_all_is_usual_is_said_with_what_was_compared_and_not_where_nothing_was(database: Database) -> None:
    bot = Bot(database, Clock())
    await peers(bot, FEWEST_PEERS)
    assert (await bot.check("gpu-0")).compared == "", "so few say nothing"
    usual = await bot.check("well")
    assert (usual.unusual, usual.compared) == ((), f"{len(SETTINGS)} facts beside its {FEWEST_PEERS} peers")
    assert f"Nothing unusual among {usual.compared}." in verdict_text(usual)
    assert node_document(usual)["compared"] == usual.compared
    bot.said = dict.fromkeys(SETTINGS, "no")
    another = await bot.check("of another kind")
    assert (another.unusual, another.compared) == ((), "")
    assert "unusual" not in verdict_text(another).lower()


@on_one
async def test_sick_and_stale_nodes_are_no_peers(database: Database) -> None:
    clock = Clock()
    one, two = Bot(database, clock), Bot(database, clock)
    await peers(one)
    two.said["s7"] = "no"
    assert len((await two.check("odd")).unusual) == 1
    one.status = Status.DEGRADED
    await one.check("gpu-3")
    assert (await two.check("odd")).unusual == (), "one fewer than enough"
    one.status = Status.HEALTHY
    await one.check("gpu-3")
    assert len((await two.check("odd")).unusual) == 1
    clock.now += timedelta(days=8)
    assert (await two.check("odd")).unusual == (), "they were read more than a week ago"


async def test_it_is_said_since_when_and_only_the_latest_checks_are_stored(database: Database) -> None:
    clock = Clock()
    bot = Bot(database, clock)
    await peers(bot)
    await bot.check("odd")
    bot.said["s7"] = "no"
    (new,) = (await bot.check("odd")).unusual
    first = clock.now
    (later,) = (await bot.check("odd")).unusual
    assert (new.since, later.since) == ("now", first.isoformat(timespec="minutes"))
    for _ in range(KEPT):
        await bot.check("odd")
    assert (await bot.check("odd")).unusual[0].since == ""
    with database.reading() as connection:
        count = connection.execute(text("SELECT count(*) FROM node_facts_v1 WHERE node = 'odd'")).scalar_one()
    assert count == KEPT


@on_one
async def test_verdict_is_not_held_back_by_a_record_that_does_not_answer(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot = Bot(database, Clock())

    def gone(*_: Any) -> None:
        raise LedgerUnavailable("The ledger does not answer.")

    monkeypatch.setattr(FactStore, "news", on_thread(gone))
    assert (await bot.check("one")).status is Status.HEALTHY
    assert bot.logged == ["unusual_not_compared"]


@pytest.mark.parametrize("row", [b"no zlib", zlib.compress(b"[" * 100_000), "no bytes"])
async def test_verdict_is_not_held_back_by_a_row_that_is_damaged(database: Database, row: bytes | str) -> None:
    clock = Clock()
    await Bot(database, clock).check("one")
    with database.writing() as connection:
        if isinstance(row, str):
            connection.exec_driver_sql(f"UPDATE {FACTS.name} SET facts = '{row}'")
        else:
            connection.execute(update(FACTS).values(facts=row))
    bot = Bot(database, clock)
    assert (await bot.check("two")).status is Status.HEALTHY
    assert bot.logged == ["unusual_not_compared"]


@on_one
async def test_verdict_waits_no_longer_than_a_moment_for_it(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot = Bot(database, Clock())
    bot.extra._patience = 0.05
    go_on = threading.Event()
    monkeypatch.setattr(FactStore, "news", on_thread(lambda *_: go_on.wait(10) and ()))
    assert (await bot.check("one")).unusual == ()
    go_on.set()
    await bot.extra.close()
    assert bot.logged == ["unusual_not_compared"]
    assert [each.node for each in FactStore(database).past.now("one")] == ["one"], "its facts are stored all the same"


@on_one
async def test_what_is_said_stands_on_the_verdict_everywhere_and_changes_nothing_of_it(database: Database) -> None:
    bot = Bot(database, Clock())
    await peers(bot)
    usual = await bot.check("gpu-0")
    bot.said["s7"] = "no\x1b[31m *bold* <b>"
    verdict = await bot.check("odd")
    assert (verdict.status, verdict.cause, verdict.plan) == (usual.status, usual.cause, usual.plan)
    for shown in (verdict_brief(verdict), verdict_text(verdict)):
        assert "unusual: sysctl.s7" in shown.splitlines()[0]
        assert "no\\x1b[31m *bold* <b> here, yes on its 40 peers" in " ".join(shown.split())
        assert "\x1b" not in shown
    body = json.loads(json.dumps(node_document(verdict)))
    assert [each["fact"] for each in body["unusual"]] == ["sysctl.s7"]
    lines = verdict_text(verdict).splitlines()
    assert lines[1].startswith("  Look here first: sysctl.s7"), "before that it is healthy"
    assert "\x1b[32m" not in verdict_text(verdict, colour=True), "green would end the search"
    group = verdicts_view([usual, verdict], BY_NAME)
    assert [view.node for view in group.incidents] == ["odd", "gpu-0"]
    assert group.headline == "2 nodes: 2 healthy, 1 of the healthy unusual"
    assert [row[0] for row in node_table(group).rows] == ["🔎 healthy", "🟢 healthy"]
    table = verdicts_table([usual, verdict], 2, 120, healthy=0)
    assert ("odd" in table, "gpu-0" in table) == (True, False), "only ordinary ones are left out"
    found = replace(verdict, cause="disk-full", status=Status.DEGRADED)
    assert "unusual" not in verdict_text(found).splitlines()[0], "a cause comes first"
    assert "Unusual" in verdict_text(found)


def test_stored_facts_come_back_as_they_were(database: Database) -> None:
    facts = NodeFacts("n", AT, True, {"a": "read", "a.b": 0.25, "a.c[ü]": "there"}, 3.5)
    store = FactStore(database)
    assert store.past.now("n") == store.news.now("k", AT - timedelta(days=1)) == ()
    store.keep.now("k", facts)
    store.keep.now("k", facts)
    assert store.past.now("n") == store.news.now("k", AT - timedelta(days=1)) == (facts,)


@on_one
async def test_own_rows_are_not_read_back_and_those_of_others_are(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked: list[str] = []
    unpack = store_module._facts

    def counting(row: Any) -> NodeFacts:
        unpacked.append(row.node)
        return unpack(row)

    monkeypatch.setattr(store_module, "_facts", counting)
    clock = Clock()
    one, two = Bot(database, clock), Bot(database, clock)
    for name in ("a", "b", "c"):
        await one.check(name)
    assert unpacked == []
    await two.check("d")
    assert unpacked == ["a", "b", "c"]
    await one.check("e")
    assert unpacked == ["a", "b", "c", "d"]


async def test_nodes_that_left_the_inventory_are_forgotten_once_they_are_no_peers_any_more(database: Database) -> None:
    clock = Clock()
    bot = Bot(database, clock)
    for name in ("stays", "gone"):
        await bot.check(name)
    clock.now += timedelta(days=8)
    await bot.check("new")
    bot.extra.knows([Node("stays", "10.0.0.1")])
    bot.extra.knows([])
    await bot.check("new")  # after it, on the same thread
    found = {name: len(FactStore(database).past.now(name)) for name in ("stays", "gone", "new")}
    assert found == {"stays": 1, "gone": 0, "new": 2}


@on_one
async def test_lines_of_the_node_stand_with_what_is_said(database: Database) -> None:
    bot = Bot(database, Clock())
    link = Link("mlx5_core 0000:17:00.0", 16, 16, lines=("current_width: 16",))
    bot.more = {"hardware": HardwareReading((link,), {"vm.swappiness": "60"}, {"vm.swappiness": "swappiness:60"})}
    await peers(bot)
    odd = replace(link, width=8, lines=("current_width: 8",))
    bot.more = {"hardware": HardwareReading((odd,), {"vm.swappiness": "1"}, {"vm.swappiness": "swappiness:1"})}
    said = (await bot.check("odd")).unusual
    assert {each.title: each.lines for each in said} == {
        "PCIe width of mlx5_core 0000:17:00.0": ("current_width: 8",),
        "vm.swappiness": ("swappiness:1",),
    }
    body = json.loads(json.dumps(node_document(replace(await bot.check("odd"), unusual=said))))
    assert [each["lines"] for each in body["unusual"]] == [list(each.lines) for each in said]


@on_one
async def test_what_the_kernel_says_here_alone_is_quoted_whole(database: Database) -> None:
    bot = Bot(database, Clock())
    bot.more = {"kernel_log": KernelLogReading("journal", 600)}
    await peers(bot)
    line = "[5183969.000000] node kernel: nvme nvme0: I/O 512 QID 7 timeout, completion polled"
    bot.more = {"kernel_log": KernelLogReading("journal", 600, (KernelEvent("complaint", line),))}
    bot.status = Status.DEGRADED
    (said,) = (await bot.check("odd")).unusual
    assert said.says == (
        "a line of the kernel: “nvme nvme0: I/O 512 QID 7 timeout, completion polled” here, absent on its 40 peers"
    )
    assert said.lines == (line,)
