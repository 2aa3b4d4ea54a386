"""Where CPU time went is told beside a verdict; without a profiler, or with a hostile one, nothing changes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from bot.app.extras import shipped
from bot.domain.contracts import Listener
from bot.domain.errors import CannotRead, SettingsError
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.verdict import Evidence, Verdict
from bot.extras.history.history import history_of
from bot.extras.history.pyroscope import ANSWER_LIMIT_BYTES, PyroscopeHistory, read_spent
from bot.extras.history.settings import CPU_PROFILE, PyroscopeSettings
from bot.inventory import Inventory
from bot.settings import Settings
from tests.monitoring.pyroscope import Pyroscope, flame_graph, simulated
from tests.unit.surfaces.verdicts import FOUNDING

NODE = Node("node-1", "10.0.0.7", labels={"kubernetes_node": "ip-10-0-0-7.ec2.internal"})
TWIN = Node("node-2", "10.0.0.7")
UNTIL = datetime(2026, 11, 21, 10, 42, tzinfo=UTC)
PLAYBOOK = Playbook("node-health", "Is it well?", 1, (), (), ())
SECOND = 1_000_000_000
BURST = {
    ("kubelet", "do_syscall_64", "seq_read", "memcg_numa_stat_show", "mem_cgroup_nr_lru_pages"): 86 * SECOND,
    ("kubelet", "do_syscall_64", "seq_read", "memcg_numa_stat_show"): 9 * SECOND,
    ("python", "train"): 103 * SECOND,
    ("python", "train", "all_reduce"): 2 * SECOND,
}


@pytest.fixture
async def pyroscope() -> AsyncIterator[Pyroscope]:
    async with simulated() as running:
        yield running


async def before(pyroscope: Pyroscope, *nodes: Node, tenant: str = "", limit: float = 30.0) -> Evidence:
    past = PyroscopeHistory(pyroscope.url, nodes or (NODE,), "node", CPU_PROFILE, tenant, limit)
    try:
        (told,) = await past.before(NODE, UNTIL)
    finally:
        await past.close()
    return told


async def test_functions_are_told_by_what_they_themselves_took(pyroscope: Pyroscope) -> None:
    pyroscope.stacks["ip-10-0-0-7.ec2.internal"] = BURST
    pyroscope.stacks["ip-10-0-0-70.ec2.internal"] = {("another",): SECOND}
    told = await before(pyroscope, tenant="ml")
    assert told.says == (
        "before the alert: of 200 s of CPU time in 15 min, by function: "
        "train 52%, mem_cgroup_nr_lru_pages 43%, memcg_numa_stat_show 4%"
    )
    assert told.source[1] == "43.0% mem_cgroup_nr_lru_pages"
    assert told.probe == "pyroscope"
    ((asked, tenant),) = pyroscope.asked
    assert int(asked["until"]) - int(asked["from"]) == 900
    assert int(asked["until"]) == UNTIL.timestamp()
    assert tenant == "ml"


async def test_name_that_two_nodes_have_asks_for_neither(pyroscope: Pyroscope) -> None:
    pyroscope.stacks["10.0.0.7"] = BURST
    with pytest.raises(CannotRead, match="no profile of node-1 by its label node"):
        await before(pyroscope, NODE, TWIN)
    assert "10.0.0.7" not in pyroscope.asked[0][0]["query"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda: web.Response(status=500, text="\x1b[2Jno <!channel>"), r"answers 500: \\x1b\[2Jno"),
        (lambda: web.Response(status=302, headers={"Location": "http://169.254.169.254/"}), "answers 302"),
        (lambda: web.Response(text="[" * 100_000), "not a flame graph"),
        (lambda: web.Response(body=b" " * (ANSWER_LIMIT_BYTES + 1)), "more than 2 MiB"),
    ],
)
async def test_answer_that_is_none_is_unread(pyroscope: Pyroscope, answer: object, says: str) -> None:
    pyroscope.broken = answer  # type: ignore[assignment]
    with pytest.raises(CannotRead, match=says):
        await before(pyroscope)


async def test_one_that_never_answers_is_left_alone(pyroscope: Pyroscope) -> None:
    class Silent(web.StreamResponse):
        async def prepare(self, request: web.BaseRequest) -> None:
            await asyncio.sleep(3600)

    pyroscope.broken = Silent
    with pytest.raises(CannotRead, match=r"did not answer within 0\.2 s"):
        await before(pyroscope, limit=0.2)


def test_function_names_are_made_safe() -> None:
    graph = flame_graph({("\x1b[31mred\u202e" + "x" * 400,): 5, ("other",): 5})
    spent = read_spent(json.dumps(graph).encode())
    ((name, share),) = spent.functions
    assert name.startswith(r"\x1b[31mred\u202e")
    assert len(name) <= 130
    assert share == 0.5


def test_parts_may_not_be_more_than_the_whole() -> None:
    graph = flame_graph({("f",): 5})
    graph["flamebearer"]["numTicks"] = 4
    with pytest.raises(CannotRead, match="more than the whole"):
        read_spent(json.dumps(graph).encode())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, st.sampled_from(["names", "levels", "numTicks", "sampleRate", "format", "flamebearer", "metadata"]))
def test_whatever_stands_in_its_place_is_unread_or_a_share(value: object, place: str) -> None:
    graph = flame_graph({("f", "g"): 5, ("f",): 1})
    inside = graph if place in graph else graph["metadata"] if place in graph["metadata"] else graph["flamebearer"]
    inside[place] = value
    try:
        spent = read_spent(json.dumps(graph).encode())
    except CannotRead:
        return
    assert all(0 < share <= 1 for _, share in spent.functions)


async def test_it_stands_beside_the_verdict_and_changes_nothing_else(pyroscope: Pyroscope) -> None:
    pyroscope.stacks["node-1"] = BURST

    async def judged(node: Node, playbook: Playbook, heard: Listener) -> Verdict:
        return FOUNDING

    settings = replace(Settings(), members={"pyroscope": PyroscopeSettings(url=pyroscope.url)})
    past = history_of(settings, Inventory({NODE.name: NODE}, "inventory.toml"))
    assert past.prometheus is None
    diagnose = past.beside(judged)
    found = await diagnose(NODE, PLAYBOOK, lambda *_: None)
    assert replace(found, evidence=()) == replace(FOUNDING, evidence=())
    assert sum("mem_cgroup_nr_lru_pages 43%" in said.says for said in found.evidence) == 1
    pyroscope.stacks.clear()
    unread = (await diagnose(NODE, PLAYBOOK, lambda *_: None)).unread[-1]
    assert (unread.probe, unread.reason) == ("pyroscope", "Pyroscope has no profile of node-1 by its label node")
    await past.close()


def test_settings_that_could_leave_the_query_are_refused(tmp_path: Path) -> None:
    config = tmp_path / "zombie.toml"
    for line in ('label = "node}"', 'profile = "cpu{}"', 'labl = "node"'):
        config.write_text(f"[pyroscope]\n{line}\n")
        with pytest.raises(SettingsError, match=r"zombie\.toml:2"):
            Settings.load({"config": config}, {}, tmp_path, members=shipped().settings)
    config.unlink()
    set_up = Settings.load({}, {"PYROSCOPE_URL": "ftp://x"}, tmp_path, members=shipped().settings)
    with pytest.raises(SettingsError, match="PYROSCOPE_URL is not an address"):
        history_of(set_up, Inventory({}, "inventory.toml"))
