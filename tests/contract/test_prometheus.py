"""A node's past is told beside its verdict, in queries that Prometheus takes; without it nothing else changes."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.app.extras import extras_in_force
from bot.domain.contracts import Listener
from bot.domain.entry import canonical_body
from bot.domain.errors import CannotRead, SettingsError
from bot.domain.json_form import to_json_types
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.probe import Snapshot
from bot.domain.verdict import Evidence, Verdict
from bot.extras.history.history import check_base
from bot.extras.history.metric_history import with_metric_history
from bot.extras.history.monitoring_store import AT_ONCE, names_of
from bot.extras.history.prometheus import PrometheusHistory, _instance_matcher, _series
from bot.extras.history.prometheus_questions import QUESTIONS
from bot.probes.host import HostReading
from bot.response.diagnosis.count_growth import store_count_and_growth
from bot.settings import Settings
from tests.examples import up_to
from tests.monitoring.exporters import KNOWN
from tests.monitoring.prometheus import Prometheus, simulated
from tests.monitoring.promql import selectors
from tests.unit.response.diagnosis.test_count_growth import Before
from tests.unit.response.diagnosis.test_count_growth import looks as looks_kept
from tests.unit.response.diagnosis.test_count_growth import playbook as counting
from tests.unit.surfaces.verdicts import FOUNDING

NODE = Node("node-1", "10.0.0.7", labels={"instance_id": "i-0abc"})
NODES = (NODE, Node("node-10", "10.0.0.70"), Node("node-2", "10.0.0.8"))
UNTIL = datetime(2026, 11, 21, 10, 42, tzinfo=UTC)
PLAYBOOK = Playbook("node-health", "Is it well?", 1, (), (), ())


@pytest.fixture
async def prometheus() -> AsyncIterator[Prometheus]:
    async with simulated() as running:
        yield running


async def before(prometheus: Prometheus, node: Node = NODE, limit: float = 5.0) -> tuple[Evidence, ...]:
    past = PrometheusHistory(prometheus.url, NODES, limit)
    try:
        return await past.before(node, UNTIL)
    finally:
        await past.close()


async def told(prometheus: Prometheus, node: Node = NODE) -> list[str]:
    return [one.says for one in await before(prometheus, node)]


def burst(seconds: float) -> float:
    return 0.97 if 120 <= seconds <= 240 else 0.1


async def test_what_was_out_of_the_ordinary_is_a_line_each(prometheus: Prometheus) -> None:
    prometheus.holds("node_cpu_seconds_total", burst, instance="node-1:9100", cpu="39")
    prometheus.holds("node_softnet_dropped_total", lambda at: 1234.0 if at < 60 else 0.0, instance="node-1:9100")
    prometheus.holds("node_cgroups_cgroups", lambda at: 68_440 - at * 8, instance="node-1:9100")
    prometheus.holds(
        "container_cpu_cfs_throttled_periods_total",
        lambda at: 0.5,
        instance="10.0.0.7:10250",
        namespace="ml",
        pod="train-0",
        container="main",
    )
    core = "core 39 was in the kernel for 97% of two minutes at 10:38 UTC; a core above 80% in 5 of 31 looks"
    assert await told(prometheus) == [
        f"before the alert: {core}",
        "before the alert: cores dropped 1,234 packets within two minutes for lack of time, at 10:41 UTC",
        "before the alert: memory cgroups beyond the living went from 61,240 to 68,440 in 15 min",
        "before the alert: ml/train-0/main was throttled in 50% of its periods at 10:27 UTC",
    ]
    (asked, *_) = prometheus.asked
    assert float(asked["end"]) - float(asked["start"]) == 900
    assert float(asked["end"]) == UNTIL.timestamp()


async def test_quiet_past_is_one_line(prometheus: Prometheus) -> None:
    prometheus.holds("node_cpu_seconds_total", lambda _: 0.234, instance="node-1:9100", cpu="3")
    prometheus.holds("node_softnet_dropped_total", lambda _: 0.0, instance="node-1:9100")
    (line,) = await told(prometheus)
    assert line == (
        "before the alert: in the 15 min before 10:42 UTC, no core above 23% in the kernel, "
        "no packets dropped for lack of a core's time"
    )


async def test_only_the_node_itself_is_asked_for(prometheus: Prometheus) -> None:
    for instance in ("node-10:9100", "xnode-1:9100", "10a0.0.7:9100", "10.0.0.70", "i-0abcd"):
        prometheus.holds("node_cpu_seconds_total", lambda _: 0.99, instance=instance, cpu="1")
    with pytest.raises(CannotRead, match="no series of node-1"):
        await before(prometheus)
    for instance in ("i-0abc", "10.0.0.7:9100", "node-1"):
        prometheus.curves.clear()
        prometheus.holds("node_cpu_seconds_total", lambda _: 0.99, instance=instance, cpu="1")
        assert len(await told(prometheus)) == 1, instance


async def test_name_that_two_nodes_share_names_neither(prometheus: Prometheus) -> None:
    prometheus.holds("node_cpu_seconds_total", lambda _: 0.99, instance="gateway:2222", cpu="1")
    one, other = (Node(name, "gateway", labels={"hostname": "shared"}) for name in ("a", "b"))
    past = PrometheusHistory(prometheus.url, (one, other))
    with pytest.raises(CannotRead):
        await past.before(one, UNTIL)
    await past.close()
    assert "gateway" not in prometheus.asked[0]["query"]


async def test_many_nodes_at_once_do_not_flood_it(prometheus: Prometheus) -> None:
    nodes = [Node(f"n-{number}", f"10.0.1.{number}") for number in range(15)]
    for node in nodes:
        prometheus.holds("node_cpu_seconds_total", lambda _: 0.99, instance=f"{node.name}:9100", cpu="1")
    past = PrometheusHistory(prometheus.url, nodes, 20.0)
    found = await asyncio.gather(*(past.before(node, UNTIL) for node in nodes))
    await past.close()
    assert [len(one) for one in found] == [1] * 15
    assert len(prometheus.asked) == 60
    assert 2 < prometheus.most_inside <= AT_ONCE


@pytest.mark.parametrize("node", [*NODES, Node("n", "fd00::1"), Node("n.x", "a.b", labels={"hostname": 'q"\\|.*'})])
def test_every_query_is_one_that_prometheus_takes_of_metrics_that_exist(node: Node) -> None:
    for question in QUESTIONS:
        found = selectors(question.query(_instance_matcher(names_of(node))))
        assert found
        assert all(one.name in KNOWN for one in found)
        assert all({label for label, _, _ in one.matchers} <= KNOWN[one.name] | {"instance"} for one in found)


# --- a Prometheus that is not well


def answers(status: int = 200, body: bytes = b"{}", **headers: str) -> Callable[[], web.StreamResponse]:
    return lambda: web.Response(status=status, body=body, headers=headers)


PACKED = gzip.compress(b'{"data":{"resultType":"matrix","result":[]}}' + b" " * 900_000)  # 1 kB


@pytest.mark.parametrize(
    ("broken", "because"),
    [
        (answers(503), "answers 503"),
        (answers(422, b'{"status":"error","error":"query timed out"}'), "422: query timed out"),
        (answers(302, Location="http://xn--a/"), "cannot be reached"),  # that name decodes to none
        (answers(200, PACKED, **{"Content-Encoding": "gzip"}), "malformed"),  # unpacked, it may be any length
        (answers(200, b'{"data":{"resultType":"vector","result":[]}}'), "not a range"),
        (answers(200, b"[" * 200_000), "malformed"),
        (answers(200, b'{"data":"' + b"x" * 2_000_000 + b'"}'), "more than 1 MiB"),
    ],
)
async def test_answer_that_is_none_is_unread(
    prometheus: Prometheus, broken: Callable[[], web.StreamResponse], because: str
) -> None:
    prometheus.broken.append(broken)
    with pytest.raises(CannotRead, match=because):
        await before(prometheus)


@pytest.mark.parametrize("body", ["You sent: {}", '{{"status":"error","error":"You sent: {}"}}'])
async def test_refusal_that_shows_a_key_shows_no_beginning_of_it(prometheus: Prometheus, body: str) -> None:
    key = "glpat-AbCdEfGhIjKlMnOpQrSt"
    prometheus.broken.append(answers(403, body.format(f"{'x ' * 46}{key}").encode()))
    with pytest.raises(CannotRead, match="answers 403: You sent") as no:
        await before(prometheus)
    assert "AbCd" not in no.value.sentence


async def test_what_it_wants_kept_is_not_kept(prometheus: Prometheus) -> None:
    prometheus.broken.append(answers(200, b'{"data":{"resultType":"matrix","result":[]}}', **{"Set-Cookie": "a=b"}))
    past = PrometheusHistory(prometheus.url, NODES)
    for _ in range(2):
        with pytest.raises(CannotRead, match="no series"):
            await past.before(NODE, UNTIL)
    assert not past._client.cookies  # each request would look through all of them
    await past.close()


async def test_passing_trouble_is_tried_once_more(prometheus: Prometheus) -> None:
    prometheus.holds("node_cpu_seconds_total", lambda _: 0.99, instance="node-1", cpu="1")
    prometheus.broken.extend([answers(503), lambda: web.Response(status=429)])
    with pytest.raises(CannotRead, match="answers 429"):
        await before(prometheus)
    prometheus.broken.clear()
    assert await told(prometheus)


async def test_prometheus_that_is_not_there_or_hangs_is_given_up_in_time(prometheus: Prometheus) -> None:
    past = PrometheusHistory("http://127.0.0.1:1", NODES)
    with pytest.raises(CannotRead, match="cannot be reached"):
        await past.before(NODE, UNTIL)
    await past.close()
    prometheus.held = asyncio.Event()
    with pytest.raises(CannotRead, match=r"within 0\.2 s"):
        await before(prometheus, limit=0.2)


@settings(max_examples=up_to(300), deadline=None)
@given(
    st.binary(max_size=80)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["metric", "values"]), inner),
        max_leaves=8,
    ).map(lambda found: f'{{"data":{{"resultType":"matrix","result":{json.dumps(found)}}}}}'.encode())
)
def test_whatever_is_answered_is_read_or_refused(body: bytes) -> None:
    try:
        assert all(one.points for one in _series(body))
    except CannotRead:
        return


@pytest.mark.parametrize("url", ["prometheus.example", "ftp://x", "http://x?query=1"])
def test_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="PROMETHEUS_URL is not an address"):
        check_base("PROMETHEUS_URL", url)


def test_address_is_not_read_where_the_extra_is_off(tmp_path: Path) -> None:
    (tmp_path / "zombie.toml").write_text('[extras]\noff = ["history"]\n')
    extras = extras_in_force((), {}, tmp_path)
    chosen = Settings.load({}, {"PROMETHEUS_URL": "nowhere"}, tmp_path, None, extras.settings, extras.absent)
    assert chosen.secrets == ()
    assert [given.key.name for given in chosen.given if given.key.environment == "PROMETHEUS_URL"] == []
    assert [extra.name for extra in extras.on if extra.reads_more] == ["unusual"]


# --- beside a verdict


class Told:
    """A past that says what it is told to."""

    def __init__(self, *says: str, because: str = "") -> None:
        self.evidence = tuple(Evidence("before", "prometheus", one) for one in says)
        self.because = because

    async def before(self, node: Node, until: datetime) -> tuple[Evidence, ...]:
        if self.because:
            raise CannotRead(self.because)
        return self.evidence


async def verdict_with(past: Told, verdict: Verdict = FOUNDING) -> Verdict:
    async def diagnose(node: Node, playbook: Playbook, heard: Listener) -> Verdict:
        return verdict

    return await with_metric_history(diagnose, past, lambda: UNTIL)(NODE, PLAYBOOK, lambda _: None)


@pytest.mark.parametrize("past", [Told("one", "two"), Told(), Told(because="it is down")])
async def test_past_never_changes_what_the_verdict_is(past: Told) -> None:
    told = await verdict_with(past)
    for field in fields(Verdict):
        if field.name not in ("evidence", "unread"):
            assert getattr(told, field.name) == getattr(FOUNDING, field.name), field.name
    assert [one for one in told.evidence if one.probe != "prometheus"] == list(FOUNDING.evidence)
    assert told.unread[: len(FOUNDING.unread)] == FOUNDING.unread


async def test_past_that_cannot_be_told_is_one_unread_line() -> None:
    told = await verdict_with(Told(because="Prometheus did not answer within 5 s"))
    assert [(one.probe, one.reason) for one in told.unread[len(FOUNDING.unread) :]] == [
        ("prometheus", "Prometheus did not answer within 5 s")
    ]
    assert told.evidence == FOUNDING.evidence


async def test_first_line_of_the_past_is_among_the_five_of_a_card() -> None:
    many = replace(FOUNDING, evidence=tuple(Evidence(str(n), "cpu", str(n)) for n in range(9)))
    told = await verdict_with(Told("first", "second"), many)
    assert [one.says for one in told.evidence] == ["0", "1", "2", "3", "first", "4", "5", "6", "7", "8", "second"]


async def test_node_that_answers_sooner_waits_for_the_past_and_one_that_fails_leaves_nothing(
    prometheus: Prometheus,
) -> None:
    prometheus.held = asyncio.Event()

    async def fails(node: Node, playbook: Playbook, heard: Listener) -> Verdict:
        raise ValueError("a bug")

    past = PrometheusHistory(prometheus.url, NODES)
    with pytest.raises(ValueError, match="a bug"):
        await with_metric_history(fails, past, lambda: UNTIL)(NODE, PLAYBOOK, lambda _: None)
    await asyncio.sleep(0)
    assert [task for task in asyncio.all_tasks() if task.get_name().startswith("past of")] == []
    await past.close()


async def test_what_a_cause_counts_is_read_hour_by_hour(prometheus: Prometheus) -> None:
    prometheus.holds("node_cgroups_cgroups", lambda at: 68_440 - at / 3600, instance="node-1:9100")
    past = PrometheusHistory(prometheus.url, NODES)
    try:
        looks = await past.counted(NODE, "leaked-memory-cgroups", UNTIL)
        assert len(looks) > 300
        assert looks[-1].value - looks[0].value == pytest.approx(14 * 24, rel=0.01)
        assert await past.counted(NODE, "disk-full", UNTIL) == ()
        assert await past.counted(Node("elsewhere", "192.0.2.1"), "leaked-memory-cgroups", UNTIL) == ()
    finally:
        await past.close()


@pytest.mark.parametrize(
    "points",
    [
        "[[1e18,'1'],[1e19,'2']]",
        "[[{now},'1e308'],[{later},'0'],[{latest},'1.7e308']]",
    ],
)
async def test_count_that_none_can_be_costs_no_verdict(prometheus: Prometheus, points: str) -> None:
    began = int(UNTIL.timestamp()) - 7200
    values = points.replace("'", '"').format(now=began, later=began + 60, latest=began + 3600)
    series = f'{{"metric":{{"instance":"node-1"}},"values":{values}}}'
    prometheus.broken.append(answers(200, f'{{"data":{{"resultType":"matrix","result":[{series}]}}}}'.encode()))
    past = PrometheusHistory(prometheus.url, NODES)
    try:
        looks = await past.counted(NODE, "leaked-memory-cgroups", UNTIL)
        host = HostReading("5.4.0", "boot", timedelta(hours=20))
        snapshot = Snapshot(NODE.name, UNTIL, timedelta(0), {"host": host})
        told = await store_count_and_growth(looks_kept(), NODE.name, snapshot, counting(), None, [Before(looks)])
        assert canonical_body(to_json_types(told))
        with contextlib.suppress(CannotRead):
            assert all(len(one.says) < 300 for one in await past.before(NODE, UNTIL))
    finally:
        await past.close()
