"""What must hold of a verdict on machines that are drawn: their units, figures, kernels, systems and drivers.

Each machine goes the whole way, from what its programs print to the verdict. Those that nothing is wrong with, or whose
remedy nothing speaks against, stand beside: what holds of none of them would hold of a program that says nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.verdict import Status, Verdict
from bot.view.words import open_points
from tests.contract.asked import LEAK, evaluated, evaluated_again, judged
from tests.contract.made_nodes import FOLDER, gone_gpu, harmed, made
from tests.examples import up_to
from tests.independent import kinds
from tests.independent.cgroups import ecs_loops, holds, starves
from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.machine import Machine

ill = cache(made)
HEALTHY, DEGRADED, CRITICAL = Status.HEALTHY, Status.DEGRADED, Status.CRITICAL
NAMES = st.from_regex(r"[a-z][a-z0-9]{2,9}-(api|sync|worker|bridge)", fullmatch=True)
OLD = st.sampled_from(["4.14.336-257.562.amzn2.x86_64", "4.19.0-27-amd64", "5.4.0-1084-aws", "5.7.19"])
NEW = st.sampled_from(
    [
        "5.8.0-63-generic",
        "5.10.0-28-amd64",
        "5.15.0-1052-aws",
        "6.1.127-135.201.amzn2023.x86_64",
        "6.8.0-1021-aws",
        "6.17.2",
    ]
)
CARDS = st.sampled_from(["2.0.3g", "2.1.0K", "2.2.10g", "2.11.0g"])
HOSTS: dict[str, Callable[[], Machine]] = {
    "database": kinds.database, "Amazon Linux 2": kinds.amazon2, "Azure": kinds.azure, "Google": kinds.google,
    "ARM": kinds.arm, "metal": kinds.metal, "VMware": kinds.guest, "Rocky 8": kinds.rocky8, "small": kinds.small,
}  # fmt: skip
HOST = st.sampled_from(sorted(HOSTS))


def drawn(many: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return settings(max_examples=up_to(many), deadline=None)


def actions(verdict: Verdict) -> set[str]:
    return {step.action for step in verdict.plan.steps} if verdict.plan else set()


def said(verdict: Verdict) -> str:
    return " ".join([verdict.summary, *(one.says for one in verdict.evidence)])


# --- 12: who holds the core of a starved queue; lines of success

ENA = {name: HOSTS[name] for name in ("database", "Amazon Linux 2", "ARM")}
HOLDERS = st.sampled_from(["java", "postgres", "kubelet", "bpftrace", "kworker/5:1+eve", "falcon-sensor-b", "nginx"])


@drawn(10)
@given(
    host=st.sampled_from(sorted(ENA)), name=HOLDERS, queue=st.integers(0, 7), core=st.integers(8, 15),
    realtime=st.booleans(), every=st.integers(2, 90), count=st.integers(1, 12), newest=st.integers(1, 40),
)  # fmt: skip
def test_12_who_holds_the_core_of_a_starved_queue_is_named_without_any_leak(
    host: str, name: str, queue: int, core: int, realtime: bool, every: int, count: int, newest: int
) -> None:
    def starved() -> Machine:
        machine = ENA[host]().served({each: core if each == queue else each for each in range(8)})
        return starves(machine, queue, newest * MINUTE, every * MINUTE, count)

    verdict = evaluated(holds(starved(), name, core, realtime).case())
    recurs = count >= 3 and newest <= 2 * every and every > 3
    assert (verdict.status, verdict.cause) == (CRITICAL if recurs else DEGRADED, "queue-starved"), verdict.summary
    assert verdict.suspects == (name,)
    assert verdict.summary.startswith(f"Core {core}, which serves a starved queue (")
    assert f"by {name} (pid 6021" in verdict.summary
    assert (verdict.plan, verdict.lasting_fix != "") == (None, True)
    elsewhere, unharmed = starved(), holds(ENA[host](), name, core, realtime)
    for other in (holds(elsewhere, name, 7 if core == 8 else 8, realtime), unharmed.served({0: core})):
        verdict = evaluated(other.case())
        assert (verdict.cause == "queue-starved", name in verdict.suspects) == (False, False), verdict.summary


@drawn(6)
@given(
    kernel=st.one_of(OLD, NEW), name=NAMES, realtime=st.booleans(), every=st.integers(10, 90), newest=st.integers(1, 9)
)
def test_12_holder_is_named_beside_a_leak_which_earns_no_reboot_by_it(
    kernel: str, name: str, realtime: bool, every: int, newest: int
) -> None:
    name = name[:15]  # a comm
    verdict = evaluated(
        holds(starves(leaking(kernel), 5, newest * MINUTE, every * MINUTE, 9), name, 5, realtime).case()
    )
    assert (verdict.status, verdict.cause, actions(verdict)) == (CRITICAL, LEAK, {"disable_unit"})
    assert f"for lack of CPU, and {name} holds core 5 in " in verdict.summary
    assert "it is not proven that the leak does it" in verdict.summary


@drawn(6)
@given(host=HOST, driver=CARDS, ago=st.floats(10, 9 * HOUR), count=st.integers(1, 30))
def test_12_what_completed_successfully_is_no_evidence_of_a_fault(
    host: str, driver: str, ago: float, count: int
) -> None:
    machine = HOSTS[host]()
    for at in range(count):
        machine.log(
            (ago + 700.0 * at, f"ixgbe 0000:03:00.0 eth9: firmware v{driver} self test {at} completed successfully")
        )
    assert evaluated(machine.case()).status is HEALTHY


# --- 13: harm that is not attributed is still harm


def paced(machine: Machine, every: float, count: int, newest: float, driver: str) -> Machine:
    """An old driver's resets: it knows that the card was silent, and not why."""
    for at, line in enumerate(
        (
            "ena 0000:20:03.0 eth0: Keep alive watchdog timeout.",
            "ena 0000:20:03.0 eth0: Trigger reset is on",
            f"ena 0000:20:03.0: Device reset completed successfully, Elastic Network Adapter (ENA) v{driver}",
        )
    ):
        machine.log_every(newest - at / 1000, every, count, line)
    return machine


def leaking(kernel: str, days: float = 9, dying: int = 68_440) -> Machine:
    return ecs_loops(kinds.founding(up=days * DAY, kernel=kernel).cgroups(240, dying), dying, 11.2 * days / 9)


PACE = {"every": st.integers(6, 55), "count": st.integers(4, 20), "newest": st.integers(2, 6), "driver": CARDS}


@drawn(5)
@given(kernel=NEW, days=st.integers(7, 30), **PACE)
def test_13_founding_case_from_5_8_on_is_as_grave_as_its_harm_and_earns_no_reboot(
    kernel: str, days: int, every: int, count: int, newest: int, driver: str
) -> None:
    for machine in (
        harmed(leaking(kernel, days)),  # the driver says that it got no core
        paced(leaking(kernel, days), every * MINUTE, count, newest * MINUTE, driver),
    ):
        verdict = evaluated(machine.case())
        assert (verdict.status, verdict.cause) == (CRITICAL, LEAK)
        assert verdict.summary.startswith("The network card was reset ")
        assert "it is not proven that the leak does it" in verdict.summary
        assert "no harm" not in said(verdict).lower()
        assert actions(verdict) == {"disable_unit"}
    unharmed = evaluated(leaking(kernel, days).case())
    assert (unharmed.status, unharmed.cause, actions(unharmed)) == (DEGRADED, LEAK, {"disable_unit"})
    assert "no harm seen" in unharmed.summary


@drawn(5)
@given(kernel=st.sampled_from(["5.4.0-1084-aws", "5.7.19", "5.3.0-1035-aws"]), days=st.integers(7, 30), **PACE)
def test_13_founding_case_with_an_old_driver_or_its_burst_outside_the_window_is_the_leak(
    kernel: str, days: int, every: int, count: int, newest: int, driver: str
) -> None:
    old = evaluated(paced(leaking(kernel, days), every * MINUTE, count, newest * MINUTE, driver).case())
    assert (old.status, old.cause, actions(old)) == (CRITICAL, LEAK, {"disable_unit"}), "a pace earns no reboot"
    machine = leaking(kernel, days)  # nobody holds a core as one looks
    for at, line in enumerate(
        ("napi handler hasn't been called for a long time but is scheduled", "Trigger reset is on")
    ):
        machine.log_every(newest * MINUTE - at / 1000, every * MINUTE, count, f"ena 0000:20:03.0 eth0: {line}")
    burst = evaluated(machine.case())
    assert (burst.status, burst.cause, actions(burst)) == (CRITICAL, LEAK, {"disable_unit", "reboot"})


# --- 16: the holder of what is used up


@drawn(8)
@given(
    host=HOST, name=st.sampled_from(["java", "postgres", "nginx"]), most=st.sampled_from([32_768, 65_536, 131_072]),
    share=st.floats(0.72, 0.99), held=st.floats(0.5, 0.9), processes=st.integers(1, 4),
)  # fmt: skip
def test_16_who_has_most_of_the_threads_is_named_where_they_run_out(
    host: str, name: str, most: int, share: float, held: float, processes: int
) -> None:
    def crowded(threads: int) -> Machine:
        machine = HOSTS[host]().limits(threads=int(most * share), pid_max=most)
        machine.process("sshd", usr=1, core=1, pid=5000, threads=310)
        for at in range(processes):
            machine.process(name, usr=4, core=at, pid=6000 + at, threads=threads)
        return machine

    many = int(most * share * held / processes)
    verdict = evaluated(crowded(many).case())
    assert (verdict.cause, verdict.status) == (
        "pid-or-fd-exhaustion",
        CRITICAL if int(most * share) >= 0.9 * most else DEGRADED,
    )
    assert f"most threads are those of {name}, {many * processes:,} in {processes} process" in said(verdict)
    few = crowded(1)
    few.facts.processes = [row for row in few.facts.processes if "(sshd)" not in row]
    assert "most threads are those of" not in said(evaluated(few.case())), "nobody has many"
    opens = crowded(many).limits(threads=900, open_files=99_000, most_open=100_000)
    assert "most threads are those of" not in said(evaluated(opens.case())), "they hold no files by that"


# --- 17: a GPU under any driver

GPUS = {
    "amdgpu": "amdgpu {bus}: amdgpu: GPU reset({n}) failed",
    "xe": "xe {bus}: [drm] GT0: Timedout job: seqno={n}, guc_id=2, flags=0x0",
    "habanalabs": "habanalabs {bus}: accel0: device is dead, reset failed {n}",
    "i915": "i915 {bus}: [drm] GPU HANG: ecode 12:1:85dcfdfb, in train [{n}]",
}


@drawn(12)
@given(
    driver=st.sampled_from(sorted(GPUS)), bus=st.sampled_from(["0000:c1:00.0", "0000:03:00.0", "0001:8a:00.0"]),
    number=st.integers(1, 900), ago=st.floats(20, 600),
)  # fmt: skip
def test_17_reset_that_failed_is_told_under_any_driver(driver: str, bus: str, number: int, ago: float) -> None:
    line = GPUS[driver].format(bus=bus, n=number)
    verdict = evaluated(kinds.metal().log((ago, line)).case())
    assert verdict.status is not HEALTHY, line
    assert line in " ".join(raw for one in verdict.evidence for raw in one.source)


# --- 18: cut is not empty

SICK: dict[str, Callable[[], Machine]] = {
    "at rest": Machine,
    "a server at rest": kinds.metal,
    "a leak with its harm": lambda: ecs_loops(harmed(kinds.founding()), 68_300, 11.2),
    "a disk without room": lambda: kinds.database().room("/", 90, 0.2),
    "a looper": lambda: kinds.guest().loops("api.service", 9_000, 11),
    "memory that fails": lambda: kinds.metal().edac("mc0", 2, 40, int(DAY)),
    "a GPU that fell off": lambda: gone_gpu(kinds.gpu_node()),
    "a table of connections that is full": lambda: kinds.google().conntrack(262_144, 262_144),
    "a queue that starves": lambda: holds(starves(Machine(), 3, 2 * MINUTE, 10 * MINUTE, 9), "java", 3),
}


@drawn(10)
@given(data=st.data(), name=NAMES)
def test_18_log_that_is_cut_is_never_taken_for_an_empty_one(data: st.DataObject, name: str) -> None:
    machine = kinds.metal().log_every(20, 30, 9, "nvme nvme1: I/O {n} QID 4 timeout, aborting")
    case = machine.case()
    whole = evaluated(case)
    assert whole.status is not HEALTHY
    runs = [run for run in case.runs if run.probe == "kernel_log"]
    assert runs
    text = runs[0].stdout
    cut = data.draw(st.integers(0, len(text) - 1))
    less = replace(case, runs=tuple(replace(run, stdout=text[:cut]) if run is runs[0] else run for run in case.runs))
    verdict = evaluated(less)
    assert verdict.status is not HEALTHY or "kernel_log" in {each.probe for each in verdict.unread}


@drawn(16)
@given(data=st.data(), which=st.sampled_from(sorted(SICK)))
def test_18_any_answer_that_is_cut_hides_no_fault_and_raises_none(data: st.DataObject, which: str) -> None:
    case = SICK[which]().case()
    whole = evaluated(case)
    asked = [run for run in case.runs if run.stdout]
    run = data.draw(st.sampled_from(asked))
    cut = data.draw(st.integers(0, len(run.stdout) - 1))
    less = replace(case, runs=tuple(replace(r, stdout=r.stdout[:cut]) if r is run else r for r in case.runs))
    verdict = evaluated(less)
    about = (run.probe, run.name, cut, verdict.summary)
    if whole.status is HEALTHY:
        assert verdict.status in (HEALTHY, Status.UNKNOWN), about
    else:
        assert verdict.status is not HEALTHY, about
    assert actions(verdict) <= actions(whole), about


ILL = sorted(path.stem for path in FOLDER.glob("sick-*.txt"))


@drawn(25)
@given(data=st.data(), name=st.sampled_from(ILL))
def test_18_no_sick_node_is_healthy_without_one_of_its_answers(data: st.DataObject, name: str) -> None:
    asked = data.draw(st.sampled_from([each for each in ill(name) if judged(each).status in (DEGRADED, CRITICAL)]))
    case, whole = asked.machine.case(), judged(asked)
    probe = data.draw(
        st.sampled_from(sorted({run.probe for run in case.runs} - {unread.probe for unread in whole.unread}))
    )
    runs = (replace(run, stdout="", exit_status=124) if run.probe == probe else run for run in case.runs)
    found = evaluated_again(replace(case, runs=tuple(runs)), whole, probe)
    # Where only that probe shows the fault, the node is called healthy as far as read, and the probe is named.
    assert found.status is not HEALTHY or probe in {unread.probe for unread in found.unread}, (probe, found.summary)
    if probe in ("host", "cpu", "units", "kernel_log"):
        assert found.status is not HEALTHY, (asked.title, probe)


@drawn(6)
@given(
    playbook=st.sampled_from(["node-health", "network-resets", "zombie-cgroups"]),
    probe=st.sampled_from(["host", "kernel_log"]), newest=st.integers(1, 300), count=st.integers(1, 9),
)  # fmt: skip
def test_18_resets_are_not_healthy_by_a_playbook_whose_log_or_uptime_was_not_read(
    playbook: str, probe: str, newest: int, count: int
) -> None:
    machine = starves(Machine(), 3, newest * MINUTE, 10 * MINUTE, count)
    assert evaluated(machine.case(), playbook).status is DEGRADED
    assert evaluated(machine.without(probe).case(), playbook).status is Status.UNKNOWN


# --- 19: what cannot be seen is not ruled out

VIRTUAL = {name: make for name, make in HOSTS.items() if make().facts.virt != "none"}
SMALLER: dict[str, Callable[[Machine], Machine]] = {
    "whole": lambda machine: machine,
    "no counts of memory errors": lambda machine: machine.without("memory_errors"),
    "a busy core": lambda machine: machine.core(1, usr=97),
    "a failed unit": lambda machine: machine.failed("certbot.service"),
}


@drawn(8)
@given(host=st.sampled_from(sorted(VIRTUAL)), how=st.sampled_from(sorted(SMALLER)))
def test_19_what_a_virtual_machine_cannot_see_does_not_apply_and_is_not_ruled_out(host: str, how: str) -> None:
    verdict = evaluated(SMALLER[how](VIRTUAL[host]()).case())
    answers = {out.cause: out.applies for out in verdict.ruled_out}
    assert (answers["memory-errors"], answers["thermal-throttling"]) == (False, False)
    assert "memory-errors" not in {each.cause for each in verdict.undecided}, "no litany"
    said = dict(open_points(verdict))
    assert {"memory-errors", "gpu-fault"} <= {name for name, _ in said["Does not apply here"]}
    assert all(out.applies for out in verdict.ruled_out if out.cause in dict(said["Ruled out"]))
    if how != "a failed unit":
        assert (verdict.status, verdict.summary.partition(" ")[0]) == (HEALTHY, "Healthy")
    metal = evaluated(kinds.metal().edac("mc0", 0, 3, int(9 * DAY)).case())
    assert {out.cause: out.applies for out in metal.ruled_out}["memory-errors"], "counted, and none"


# --- 20: no litany


@drawn(5)
@given(host=HOST)
def test_20_name_servers_that_could_not_be_asked_are_not_in_the_headline(host: str) -> None:
    verdict = evaluated(HOSTS[host]().without("dns").case())
    assert (verdict.status, verdict.summary) == (HEALTHY, "Healthy")


@drawn(5)
@given(host=HOST)
def test_20_machine_that_counts_no_heat_says_so_in_doctor_and_on_no_card(host: str) -> None:
    verdict = evaluated(HOSTS[host]().case())
    counted = verdict.snapshot is not None and getattr(verdict.snapshot.readings["interrupts"], "hot", None) is not None
    answers = {out.cause: out.applies for out in verdict.ruled_out}
    assert answers["thermal-throttling"] is (counted and HOSTS[host]().facts.virt == "none")


# --- 21: small and old things


@drawn(5)
@given(kernel=OLD, **PACE)
def test_21_card_is_not_the_cause_beside_a_leak_that_was_there_before(
    kernel: str, every: int, count: int, newest: int, driver: str
) -> None:
    verdict = evaluated(paced(leaking("5.4.0-1084-aws"), every * MINUTE, count, newest * MINUTE, driver).case())
    assert verdict.cause == LEAK
    assert "nic-device-fault" in {out.cause for out in verdict.ruled_out}
    alone = paced(kinds.founding(), every * MINUTE, count, newest * MINUTE, driver)
    assert evaluated(alone.case()).cause == "nic-device-fault"
