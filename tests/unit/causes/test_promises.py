"""What holds for every cause on every node, however its readings came out."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.actions import ACTIONS
from bot.causes import CAUSES
from bot.domain.cause import Weighing
from bot.domain.protected import is_protected
from bot.domain.verdict import Confidence, Finding, RuledOut, Status
from bot.probes.conntrack import ConntrackReading
from bot.probes.formats.kernel_line import KernelEventKind
from bot.probes.throttling import ThrottledGroup, ThrottlingReading
from tests.unit.causes import builders as b

PROBES = (
    "host", "cpu", "cgroups", "units", "containers", "agents", "nic", "kernel_log", "processes", "interrupts",
    "softirq", "reclaim", "throttling", "conntrack",
)  # fmt: skip
counts = st.sampled_from([0, 1, 3, 17, 900, 1_000, 20_000, 68_000, 70_000])
shares = st.sampled_from([0.0, 5.0, 60.0, 95.0])
ages = st.none() | st.sampled_from([timedelta(minutes=3), timedelta(hours=20), timedelta(days=4), timedelta(days=90)])
names = st.sampled_from(
    ["ecs.service", "kubelet.service", "x.service", "sshd.service", "a.scope", "$(touch pwned).service"]
)
maybe_counts = st.none() | counts
enabled = st.sampled_from(["enabled", "disabled", "static", "generated", "masked", ""])
places = st.sampled_from(
    ["system.slice", "system.slice/ecs.service", "system.slice/kubelet.service", "system.slice/$(touch pwned).service",
     "kubepods.slice/kubepods-burstable.slice", "system.slice/docker-1.scope", "x.service", "", "/"]
)  # fmt: skip
usec = st.none() | st.sampled_from([0, 5, 86_400_000_000, 10**12])


def units() -> st.SearchStrategy[Any]:
    unit = st.builds(
        b.unit,
        names,
        maybe_counts,
        maybe_counts,
        active=st.sampled_from(["active", "activating", "failed", "inactive"]),
        sub=st.sampled_from(["running", "auto-restart", "failed"]),
        enabled=enabled,
        started_usec=usec,
        state_changed_usec=usec,
        restarts_logged=counts,
        protected=st.booleans(),
        restarts_logged_over=st.none() | st.sampled_from([timedelta(0), timedelta(hours=1)]),
    )
    return st.lists(unit, max_size=3).map(lambda some: b.units(*some))


def containers() -> st.SearchStrategy[Any]:
    one = st.builds(
        b.container,
        st.sampled_from("bcd"),
        st.sampled_from([1, 50, 900_000]),
        st.sampled_from([b.AGENT_IMAGE, "jobs/x:1", "datadog/agent:7", ""]),
    )
    looks = st.lists(one, max_size=2)
    exits = st.dictionaries(st.sampled_from([b.AGENT_IMAGE, "jobs/x:1"]), counts, max_size=2)
    return st.builds(
        lambda first, later, ended, over: b.containers(*first, later=later, exits_by_image=ended, exits_over=over),
        looks,
        st.none() | looks,
        exits,
        st.sampled_from([None, timedelta(0), timedelta(minutes=10)]),
    )


def logs() -> st.SearchStrategy[Any]:
    event = st.builds(
        b.event,
        st.sampled_from(list(KernelEventKind)),
        ago=ages,
        queue=st.none() | st.just(5),
        core=st.none() | st.just(39),
        process=st.sampled_from(["", "kubelet:1", "python"]),
        napi_scheduled=st.none() | st.booleans(),
    )
    return st.lists(event, max_size=4).map(lambda some: b.log(*some))


def cores() -> st.SearchStrategy[Any]:
    hot = st.fixed_dictionaries(dict.fromkeys(("usr", "sys", "soft", "steal", "iowait", "irq"), shares))
    return st.builds(
        b.cpu,
        st.dictionaries(st.sampled_from([0, 3, 39]), hot, max_size=3),
        st.sampled_from([1, 4]),
        st.sampled_from([0, 1, 2, 5]),
        st.sampled_from([0, 1, 3, 9]),
    )


def working() -> st.SearchStrategy[Any]:
    one = st.builds(
        b.process,
        st.sampled_from(["kubelet", "python", "systemd-oomd"]),
        st.sampled_from([0.0, 0.3, 4.6]),
        on=st.sampled_from([(), (39,), (0, 3)]),
    )
    return st.lists(one, max_size=3).map(lambda some: b.processes(*some, waiting=["python"] * len(some)))


def memories() -> st.SearchStrategy[Any]:
    amount = st.sampled_from([0, 1024, b.GIB, 60 * b.GIB])
    rises = st.dictionaries(st.sampled_from(["allocstall_normal", "pgscan_direct", "compact_stall"]), counts)
    pressure = st.dictionaries(st.sampled_from(["memory full", "io full"]), shares)
    return st.builds(b.memory, amount, amount, amount, amount, rises=rises, pressure=pressure)


def leaking() -> st.SearchStrategy[Any]:
    below = st.dictionaries(places, counts, max_size=3)
    return below.map(lambda found: b.cgroups(68_440, dying_below=found, dying_below_later=found))


REPLIES: dict[str, st.SearchStrategy[Any]] = {
    "host": st.builds(
        b.host, st.sampled_from(["5.4.0", "6.1.0-18", "odd"]), st.sampled_from([0.0, 0.01, 11.25, 300.0])
    ),
    "cpu": cores(),
    "cgroups": st.builds(
        b.cgroups,
        counts,
        maybe_counts,
        st.sampled_from(["v1", "v2", "hybrid"]),
        st.sampled_from([0, 240, 70_000]),
        alive_is_at_least=st.booleans(),
        dying_below=st.dictionaries(places, counts, max_size=3),
        dying_below_later=st.dictionaries(places, counts, max_size=3),
    ),
    "units": units(),
    "containers": containers(),
    "agents": st.lists(
        st.builds(
            b.agent, used=st.none() | st.booleans(), log_exits=counts, active=st.sampled_from(["active", "failed"])
        ),
        max_size=1,
    ).map(lambda some: b.agents(*some)),
    "nic": st.builds(
        b.nic,
        st.dictionaries(st.sampled_from(["suspected_poll_starvation", "bad_tx_req_id"]), counts),
        st.none() | st.dictionaries(st.sampled_from(["suspected_poll_starvation", "pps_allowance_exceeded"]), counts),
    ),
    "kernel_log": logs(),
    "processes": working(),
    "interrupts": st.builds(
        b.interrupts,
        st.none() | st.dictionaries(st.integers(0, 3), st.dictionaries(st.sampled_from([3, 39]), counts)),
        seconds_between=st.sampled_from([None, 0.0, 5.0]),
    ),
    "softirq": st.builds(b.softirq, counts, counts, st.sampled_from([0, 3])),
    "reclaim": memories(),
    "throttling": st.builds(
        lambda periods, hit, capped: ThrottlingReading(
            (ThrottledGroup("/p", periods, min(periods, hit), timedelta(seconds=1)),), 1, capped
        ),
        counts,
        counts,
        st.booleans(),
    ),
    "conntrack": st.builds(ConntrackReading, st.booleans(), counts, counts),
}
nodes = st.fixed_dictionaries({probe: st.just(b.unread(probe)) | REPLIES[probe] for probe in PROBES})
LEAKING = st.fixed_dictionaries(
    {
        "host": st.just(b.host()), "cgroups": leaking(), "units": units(), "containers": containers(),
        "agents": REPLIES["agents"], "kernel_log": logs(), "reclaim": memories(), "cpu": st.just(b.held()),
        "processes": working(),
    }
)  # fmt: skip


def weigh(name: str, readings: dict[str, Any]) -> Weighing:
    return CAUSES[name].weigh(b.node(*readings.values()), b.tuning(CAUSES[name]))


@pytest.mark.parametrize("name", CAUSES)
@settings(max_examples=120, deadline=None)
@given(readings=nodes)
def test_weighing_never_raises_and_stays_within_its_words(name: str, readings: dict[str, Any]) -> None:
    weighing = weigh(name, readings)
    assert weighing.cause == name
    if isinstance(weighing, Finding):
        assert weighing.status in (Status.DEGRADED, Status.CRITICAL)
        assert weighing.confidence is not None
        assert weighing.evidence
        assert weighing.summary
        assert all(one.says and one.probe in PROBES for one in weighing.evidence)
        assert not (weighing.remedy and weighing.confidence is Confidence.POSSIBLE)
    else:
        assert weighing.because


def hold_the_remedy(finding: Finding) -> None:
    actions = [step.action for step in finding.remedy]
    stops = [step for step in finding.remedy if not ACTIONS[step.action].starts_a_unit]
    assert not any(is_protected(step.args.values()) for step in stops)
    on_units = [step for step in finding.remedy if "unit" in ACTIONS[step.action].targets]
    assert all(step.args["unit"] in finding.suspects for step in on_units)
    assert {step.action for step in finding.remedy if step not in on_units} <= {"reboot", "cordon"}
    if "reboot" not in actions:
        return
    assert finding.status is Status.CRITICAL
    assert actions[-1] == "reboot"
    if finding.cause == "leaked-memory-cgroups":
        assert actions[0] in ("disable_unit", "mask_unit")
        assert len(actions) == 2
        assert "leaker" in {one.finding for one in finding.evidence}
    else:
        assert finding.cause in ("lockup", "too-many-live-cgroups")
        assert finding.confidence is Confidence.CONFIRMED


@pytest.mark.parametrize("name", CAUSES)
@settings(max_examples=120, deadline=None)
@given(readings=nodes)
def test_remedy_is_never_more_than_the_readings_justify(name: str, readings: dict[str, Any]) -> None:
    weighing = weigh(name, readings)
    if isinstance(weighing, Finding):
        hold_the_remedy(weighing)


@settings(max_examples=400, deadline=None)
@given(readings=LEAKING)
def test_leaks_remedy_needs_a_leaker_and_its_reboot_a_harm(readings: dict[str, Any]) -> None:
    weighing = weigh("leaked-memory-cgroups", readings)
    assert isinstance(weighing, Finding)
    hold_the_remedy(weighing)
    seen = {one.finding for one in weighing.evidence}
    harms = {"core-held-by-walker", "memcg-walk-stack", "memory-gone", "cgroup-ids-spent", "nic-starved"}
    assert (weighing.status is Status.CRITICAL) == bool(seen & harms)
    if "leaker" not in seen:
        assert weighing.remedy == ()


@pytest.mark.parametrize("name", CAUSES)
@pytest.mark.parametrize("probe", PROBES)
def test_nothing_is_ruled_out_where_all_of_its_probes_are_unread(name: str, probe: str) -> None:
    unread = {one: b.unread(one) for one in CAUSES[name].probes}
    assert not isinstance(weigh(name, unread), RuledOut)
    if probe in CAUSES[name].probes:  # and each alone never raises
        weigh(name, {probe: b.unread(probe)})


@pytest.mark.parametrize("name", CAUSES)
def test_cause_has_its_row_of_the_table_and_its_figures_a_reason(name: str) -> None:
    module = __import__(CAUSES[name].weigh.__module__, fromlist=["__doc__"])
    assert all(word in (module.__doc__ or "") for word in ("Confirms:", "Refutes:", "Remedy:"))
    thresholds = b.USED[name].get("thresholds", {})
    assert set(thresholds) == set(CAUSES[name].thresholds)
    assert all(len(one["reason"]) > 20 for one in thresholds.values() if "irq-affinity" not in one["reason"])


def test_probes_that_a_cause_names_are_all_it_looks_at() -> None:
    """With every other probe unread, each cause says the same."""
    sick = b.node(
        b.cgroups(68_440), b.units(b.between_tries()), b.churning(), b.agents(b.agent()), b.held(),
        b.processes(b.process()), b.log(*b.starved(), b.event(KernelEventKind.HUNG_TASK)),
    )  # fmt: skip
    for cause in CAUSES.values():
        others = [b.unread(probe) for probe in PROBES if probe not in cause.probes]
        rest = type(sick)(sick.node, sick.taken_at, sick.window, {**sick.readings, **{o.probe: o for o in others}})
        assert cause.weigh(rest, b.tuning(cause)) == cause.weigh(sick, b.tuning(cause)), cause.name
