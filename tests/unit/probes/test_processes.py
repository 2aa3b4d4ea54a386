"""processes: who burns CPU, on which core, whatever they call themselves."""

from pathlib import Path

import pytest

from bot.domain.errors import CannotRead
from bot.probes.processes import PROBE, ProcessesReading, Waiting, parse
from tests.known import known
from tests.readings.mutation import HOSTILE
from tests.readings.node_tools import Way, every_awk, printed_by
from tests.readings.recorded import once


def stat(pid: int, name: str, *, threads: int = 1, core: int = 0, policy: int = 0, flags: int = 4194304) -> str:
    fields = ["S", "1", str(pid), str(pid), "0", "-1", str(flags), *["0"] * 10, str(threads), *["0"] * 18]
    return f"{pid} ({name}) " + " ".join([*fields, str(core), "0", str(policy), *["0"] * 11])


def answer(*lines: str, hz: int = 100) -> str:
    return "\n".join((f"hz {hz}", "looks 100.00 104.50 321", *lines, "end", ""))


def read(text: str) -> ProcessesReading:
    return parse(once("processes", text))


def test_the_cores_of_a_program_with_threads_are_its_busy_threads() -> None:
    lines = (f"p 5 300 {stat(77, 'kubelet', threads=60, core=4)}", "t 77 90 39 1 29", "t 77 91 12 3 0")
    (kubelet,) = read(answer(*lines)).named("kubelet")
    assert kubelet.cores_in_kernel == {39}
    assert [(t.tid, t.core, t.usr_seconds, t.sys_seconds) for t in kubelet.threads] == [
        (90, 39, 0.01, 0.29),
        (91, 12, 0.03, 0.0),
    ]


def test_where_threads_were_not_read_the_main_ones_core_says_nothing() -> None:
    (kubelet,) = read(answer(f"p 5 300 {stat(77, 'kubelet', threads=60, core=4)}")).busiest
    assert (kubelet.core, kubelet.cores_in_kernel) == (None, frozenset())
    (alone,) = read(answer(f"p 5 300 {stat(77, 'backup', core=4)}")).busiest
    assert alone.cores_in_kernel == {4}


def test_all_processes_are_counted_by_their_names() -> None:
    lines = ("n 24 5040 950 (ray::train_step)", "n 1 100 0 (a) 1 (b)", "names 5")
    reading = read(answer(*lines))
    assert reading.kinds is not None
    assert [(kind.name, kind.count, round(kind.age, 2), kind.cpu_seconds) for kind in reading.kinds] == [
        ("ray::train_step", 24, 54.1, 9.5),
        ("a) 1 (b", 1, 103.5, 0.0),
    ]
    assert reading.kinds_not_listed == 3
    assert [kind.threads for kind in read(answer(*lines, "m 4100 (ray::train_step)")).kinds or ()] == [4100, None]
    assert read(answer()).kinds is None, "an older recording does not list them, which is not none"
    with pytest.raises(CannotRead, match="malformed"):
        read(answer("n 24 x 950 (ray)", "names 1"))
    with pytest.raises(CannotRead):
        read(answer("n 24 1 950 (ray)", "m x (ray)", "names 1"))


@every_awk
@pytest.mark.parametrize(("opened", "most"), [(501, 1_310), (500, None)])
def test_tables_of_open_files_are_summed_where_half_of_all_are_open(
    tmp_path: Path, awk: Way, opened: int, most: int | None
) -> None:
    for pid, name, slots in ((1, "sshd", 50), (7, "java", 1_024), (8, "java", 286), (10, "FDSize: 99", 64)):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(stat(pid, name) + "\n")
        (tmp_path / str(pid) / "status").write_text(f"Name:\t{name}\nTgid:\t{pid}\nFDSize:\t{slots}\nGroups:\t0\n")
    (tmp_path / "sys" / "fs").mkdir(parents=True)
    (tmp_path / "sys" / "fs" / "file-nr").write_text(f"{opened}\t0\t1000\n")
    (tmp_path / "uptime").write_text("100.0 1.0\n")
    words = [word.replace("{rest}", "0").replace('"/proc', f'"{tmp_path}') for word in PROBE.commands[0].argv[1:]]
    words[-1] = words[-1].replace(" /proc/", f" {tmp_path}/")
    kinds = known(read(printed_by([*awk, *words]).replace("looks 100.0 100.0", "looks 100.00 100.01")).kinds)
    assert {kind.name: kind.file_slots for kind in kinds} == {
        "java": most, "sshd": None, "FDSize: 99": 64 if most else None,
    }  # fmt: skip


def test_ticks_become_seconds_by_the_nodes_own_clock() -> None:
    (process,) = read(answer(f"p 512 1024 {stat(7, 'x')}", hz=1024)).busiest
    assert (process.usr_seconds, process.sys_seconds) == (0.5, 1.0)


def test_pid_1_is_told_on_a_machine_where_many_are_busier(tmp_path: Path) -> None:
    """The second look finds the figures that a `sleep` of ours puts there."""
    proc, later = tmp_path / "proc", tmp_path / "later"
    for root, up, ticks in ((proc, 100.0, 0), (later, 105.0, 500)):
        for pid, name in [(1, "systemd"), *((100 + n, "burn") for n in range(60))]:
            fields = stat(pid, name).split()
            fields[13] = str(min(ticks, 470) if pid == 1 else ticks)
            (root / str(pid)).mkdir(parents=True)
            (root / str(pid) / "stat").write_text(" ".join(fields) + "\n")
        (root / "uptime").write_text(f"{up} 1.0\n")
    (tmp_path / "sleep").write_text(f"#!/bin/sh\ncp -r {later}/. {proc}/\n")
    (tmp_path / "sleep").chmod(0o755)
    argv = [word.replace("{rest}", "4").replace("/proc", str(proc)) for word in PROBE.commands[0].argv]
    assert read(printed_by(argv, f"{tmp_path}:/usr/bin:/bin")).init_percent == pytest.approx(94)


def test_realtime_and_kernel_threads_are_told() -> None:
    lines = [f"p 0 {ticks} {stat(ticks, 'x', policy=policy, flags=flags)}" for ticks, policy, flags in KINDS]
    found = [(p.realtime, p.kernel_thread) for p in read(answer(*lines)).busiest]
    assert found == [(True, True), (True, False), (True, False), (False, True), (False, False)]


KINDS = [(5, 1, 0x00200040), (4, 2, 0x00400000), (3, 6, 0), (2, 0, 0x00200000), (1, 0, 0)]


def test_the_one_busiest_in_the_kernel_comes_first_and_waiting_ones_are_counted() -> None:
    lines = (f"p 400 0 {stat(1, 'train')}", f"p 0 9 {stat(2, 'kubelet')}", "d jbd2/nvme0n1p1-8", "d tar (1) x")
    reading = read(answer(*lines))
    assert [process.name for process in reading.busiest] == ["kubelet", "train"]
    assert reading.uninterruptible == ("jbd2/nvme0n1p1-8", "tar (1) x")
    assert reading.uninterruptible_count == 2


@pytest.mark.parametrize(
    "name", ["a b", ") R 1 2", "((", "x)", "", "$(touch pwned)", "<!channel>", HOSTILE.replace("\n", "")]
)
def test_a_name_may_hold_anything(name: str) -> None:
    (process,) = read(answer(f"p 1 2 {stat(7, name)}")).busiest
    assert process.pid == 7
    assert process.sys_seconds == 0.02


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("hidden\n" + answer(), "hidepid"),
        (answer().replace("end", ""), "incomplete"),
        (answer().replace("hz 100", "hz"), "incomplete"),
        (answer().replace("hz 100", "hz 0"), "incomplete"),
        (answer().replace("looks", "look"), "incomplete"),
        (answer().replace("104.50", "100.00"), "too close together"),
        (answer().replace("104.50", "99.00"), "too close together"),
        (answer().replace("104.50", "3700.01"), "too close together"),
        (answer("p 1 2 7 (x) S 1 2 3"), "malformed"),
        (answer("p -1 2 " + stat(7, "x")), "malformed"),
        (answer("t 1 2 3"), "malformed"),
        (answer(f"p 1 2 {stat(7, 'x', core=99999)}"), "no core 99999"),
        (answer("p 1 2 " + stat(7, "x"), "t 7 8 99999 1 1"), "no core 99999"),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_reason(text: str, because: str) -> None:
    with pytest.raises(CannotRead, match=because):
        read(text)


def test_waiting_task_is_told_by_its_name_not_by_its_whole_line() -> None:
    waiting = "d " + stat(3377, "kafka (log) D 1").replace(") S 1", ") D 1")
    assert read(answer(waiting)).uninterruptible == ("kafka (log) D 1",)


def test_waiting_task_is_told_with_where_it_sleeps_in_the_kernel() -> None:
    waiting = [f"d {stat(pid, name)}".replace(") S 1", ") D 1") for pid, name in ((31, "tar"), (32, "rsync"))]
    reading = read(answer(waiting[0], "w 31 rpc_wait_bit_killable", waiting[1]))
    assert reading.waiting == (Waiting(31, "tar", "rpc_wait_bit_killable"), Waiting(32, "rsync"))


@pytest.mark.parametrize("line", ["w 31 $(id)", "w 31", "w x folio_wait_bit", "w 31 a b"])
def test_malformed_sleeper_is_unread(line: str) -> None:
    with pytest.raises(CannotRead, match="malformed"):
        read(answer(line))
