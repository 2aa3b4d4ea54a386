"""Lines that the kernel calls errors: kept with their level, evaluated where they repeat, silent where they must be."""

import re
import shlex
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from bot.probes.formats.kernel_filter import BEFORE, FILTER, GRAVE, LEVELS_END, MOST_OF_A_SORT, WHOLE
from bot.probes.formats.kernel_table import own_table
from bot.probes.kernel_log import PROBE, KernelLogReading, _filter_script, parse
from tests.contract.level_rows import rows
from tests.readings.node_tools import AWKS, Way, every_awk, every_shell, filtered, tool
from tests.readings.recorded import once

ORDINARY = {text for asked in rows("ordinary.txt", "healthy") for _, text in asked.machine.facts.log}
STRANGE = "zyx 0000:3b:00.0: mailbox not served, try {n}"


def line(at: float, says: str) -> str:
    return f"[{at:12.6f}] node kernel: {says}"


def sent(log: list[str], errors: list[str], grave: list[str], awk: Way = AWKS[0]) -> str:
    """What the node sends of a journal and of the two listings of its errors."""
    text = "".join(f"{each}\n" for each in (*log, WHOLE, *errors, GRAVE, *grave, LEVELS_END))
    return filtered(FILTER, text, awk, o="journal")


def read(errors: list[str], grave: list[str] | None = None, others: list[str] | None = None) -> KernelLogReading:
    """Read a journal of these lines, oldest first by their time."""
    everything = sorted([*errors, *(grave or []), *(others or [])])
    return parse(once("log", sent(everything, sorted([*errors, *(grave or [])]), grave or [])))


def test_errors_of_three_minutes_repeat_and_are_shown() -> None:
    again = [line(1000 + 60 * n, STRANGE.format(n=n)) for n in range(3)]
    reading = read(again)
    assert [event.kind for event in reading.events] == ["error"] * 3
    assert reading.last_complaint_seconds == 1120
    assert reading.lines_of("last_complaint_seconds") == tuple(again)
    assert read(again[:2]).last_complaint_seconds < 0


def test_errors_of_several_speakers_do_not_add_up() -> None:
    said = [line(1000 + 60 * n, f"{name}: not served") for n, name in enumerate(("one way", "other way", "third way"))]
    assert read(said).last_complaint_seconds < 0


def test_one_critical_line_counts_alone() -> None:
    reading = read([], [line(1000, "zyx: the board is at its end")])
    assert (reading.last_grave_seconds, reading.last_complaint_seconds) == (1000, -1e12)
    assert reading.lines_of("last_grave_seconds") == (line(1000, "zyx: the board is at its end"),)


def test_one_critical_line_of_known_form_counts_alone_too() -> None:
    for says in ("zyx 0000:3b:00.0: engine failed", "zyx: engine failed"):
        reading = read([], [line(1000, says)])
        assert [event.kind for event in reading.events] == ["grave"]
        assert reading.lines_of("last_grave_seconds") == (line(1000, says),)
        assert read([line(1000, says)]).last_grave_seconds < 0  # an error, and no more


@pytest.mark.parametrize(
    "says", ["Uhhuh. NMI received for unknown reason 2d on CPU 3.", "AMD-Vi: Completion-Wait loop timed out"]
)
def test_what_is_no_harm_once_is_none_whatever_its_level(says: str) -> None:
    assert [event.kind for event in read([], [line(1000, says)]).events] == ["complaint"]


def test_a_file_system_that_nobody_checked_explains_no_other_line() -> None:
    unchecked = line(999, "EXT4-fs (vda1): error count since last fsck: 7")
    reading = read([], [line(1000, "zyx: the board is at its end")], [unchecked])
    assert [event.kind for event in reading.events] == ["unchecked", "grave"]


def test_volumes_that_are_mounted_do_not_hide_one_that_nobody_checked() -> None:
    unchecked = line(1000, "EXT4-fs (vda1): error count since last fsck: 7")
    mounts = [line(1001 + n, f"EXT4-fs (sd{n}): mounted filesystem with ordered data mode") for n in range(200)]
    assert read([], others=[unchecked, *mounts]).of("unchecked")


@pytest.mark.parametrize(
    "says",
    [
        "Code: Unable to access opcode bytes at RIP 0x7f3f5f5c5f06.",
        "RIP: 0010:blk_mq_timeout_work+0x11/0x1c0",
        "Workqueue: kblockd blk_mq_timeout_work",
        "CPU: 3 PID: 4120 Comm: timeout Not tainted 5.15.0-1 #1",
    ],
)
def test_lines_of_a_trace_complain_of_nothing(says: str) -> None:
    assert read([], others=[line(1000 + 60 * n, says) for n in range(9)]).last_complaint_seconds < 0


def test_errors_of_the_first_minutes_are_a_boots() -> None:
    assert read([line(60 * n, STRANGE.format(n=n)) for n in range(5)], [line(200, "zyx: not here")]).events == ()


def test_errors_beside_a_fault_that_is_known_belong_to_it() -> None:
    known = line(1000, "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [kubelet:1]")
    reading = read([], [known, line(1001, "zyx: registers of the core")])
    assert reading.kinds == ("soft-lockup",)
    assert read([], [known, line(1006, "zyx: registers of the core")]).kinds == ("soft-lockup", "grave")


@every_awk
def test_node_sends_errors_in_their_place_with_their_level(awk: Way) -> None:
    habit = line(340, "kvm [41]: vcpu0, guest rIP: 0x0 ignored rdmsr: 0x1a2")
    known = line(350, "nf_conntrack: nf_conntrack: table full, dropping packet")
    errors = [line(330, STRANGE), habit, line(360, STRANGE)]
    grave = [line(370, "zyx: the board is at its end")]
    log = [line(1, "it starts"), *errors[:2], known, errors[2], *grave, line(380, "it goes on")]
    assert sent(log, sorted([*errors, known, *grave]), grave, awk).splitlines() == [
        f"<3>{errors[0]}",
        f"<3>{known}",
        f"<3>{errors[2]}",
        f"<2>{grave[0]}",
        "-- journal: 7 lines, 0 left out --",
    ]


@every_awk
def test_dmesg_prints_levels_itself(awk: Way) -> None:
    log = "[  400.000000] zyx: not served\n[  401.000000] zyx: at its end\n"
    levels = "kern  :err   : [  400.000000] zyx: not served\nkern  :emerg : [  401.000000] zyx: at its end\n"
    answer = filtered(FILTER, f"{log}{WHOLE}\n{levels}{LEVELS_END}\n", awk, o="dmesg")
    assert answer.splitlines()[:2] == ["<3>[  400.000000] zyx: not served", "<2>[  401.000000] zyx: at its end"]
    assert [event.kind for event in parse(once("log", answer)).events] == ["error", "grave"]


@every_awk
def test_what_a_device_wrote_half_a_day_ago_as_well_is_its_habit(awk: Way) -> None:
    now = [line(60_000 + 60 * n, STRANGE.format(n=n)) for n in range(9)]
    others = [each.replace("3b:00.0", "3c:00.0") for each in now]
    said = [*now, *others]
    before = line(16_000, STRANGE.format(n=7))
    text = "".join(f"{each}\n" for each in (*said, WHOLE, *said, GRAVE, BEFORE, before, LEVELS_END))
    answer = filtered(FILTER, text, awk, o="journal")
    assert parse(once("log", answer)).lines_of("last_complaint_seconds") == tuple(others)


def test_dmesg_holds_its_own_habits() -> None:
    says = [(60 * n, f"[{60.0 * n:12.6f}] zyx 0000:3b:00.0: not served") for n in range(6, 1000)]
    before, now = [text for at, text in says if at < 16_800], [text for at, text in says if at > 59_000]
    for log, kinds in ((now, ("error",)), ([*before, *now], ())):
        levels = (f"kern  :err   : {text}" for text in log)
        text = "".join(f"{each}\n" for each in (*log, WHOLE, *levels, LEVELS_END))
        assert parse(once("log", filtered(FILTER, text, o="dmesg"))).kinds == kinds


def test_habits_take_no_place_from_errors() -> None:
    noise = [line(1000 + n / 10, f"kvm [41]: vcpu0, guest rIP: 0x{n} ignored rdmsr: 0x1a2") for n in range(900)]
    reading = read([line(900, STRANGE), *noise])
    assert [event.text for event in reading.events] == [line(900, STRANGE)]


def test_a_flood_of_errors_is_cut_to_its_newest() -> None:
    reading = read([line(1000 + n, STRANGE.format(n=n)) for n in range(900)])
    assert len(reading.events) == MOST_OF_A_SORT
    assert reading.last_complaint_seconds == 1899


@pytest.mark.parametrize("listed", [0, 5], ids=["none", "cut short"])
def test_log_without_levels_is_read_as_before(listed: int) -> None:
    log = [line(1000 + 60 * n, STRANGE.format(n=n)) for n in range(9)]
    text = "".join(f"{each}\n" for each in (*log, WHOLE, *log[:listed]))
    assert parse(once("log", filtered(FILTER, text, o="journal"))).events == ()


def test_ordinary_lines_of_many_containers_are_counted_and_hide_nothing() -> None:
    veths = [line(1000 + n, f"cni0: port {n}(veth0a{n}) entered blocking state") for n in range(50)]
    fault = line(1020.5, "cni0: received packet on eth0 with own address as source address")
    reading = read([], others=[*veths, fault])
    assert (reading.lines_seen, [event.text for event in reading.events]) == (51, [fault])


def test_every_way_asks_for_levels_and_lives_without_them() -> None:
    (command,) = PROBE.commands
    for way in (command.argv, *command.alternatives):
        main, levels = way[2].partition(" | if IFS= read")[0].split(f" && echo '{WHOLE}' && ")
        assert levels.rstrip().endswith(f"; echo '{LEVELS_END}'; }} 2>/dev/null & }} | timeout 3 cat; }}")
        assert ("-p err" in levels and "-p crit" in levels) != ("-l emerg,alert,crit,err" in levels)
        assert "-p err" not in main


@every_awk
def test_log_says_how_far_it_reaches_back_where_that_is_not_the_boot(awk: Way) -> None:
    blocked = [line(290_000 + n, "[UFW BLOCK] IN=eth0 OUT= SRC=10.0.0.1") for n in range(9)]
    old = line(4.2, "i8042: no controller found")
    for log, errors, begins in (
        (blocked, [], (290_000, 290_000)),
        (blocked, [old], (290_000, 4)),
        ([old, *blocked], [], (0, 0)),
    ):
        reading = parse(once("log", sent(log, errors, [], awk)))
        assert (reading.begins, reading.errors_begin) == tuple(timedelta(seconds=at) for at in begins)


SHUT = "XFS (nvme1n1): Corruption of in-memory data detected. Shutting down filesystem"
XID = "NVRM: Xid (PCI:0000:3b:00): {}, name=python3, Graphics SM Warp Exception"
MOUNTED = "EXT4-fs (dm-{n}): mounted filesystem with ordered data mode"


@pytest.mark.parametrize(
    ("told", "kind", "again"),
    [
        (SHUT, "disk-error", "Buffer I/O error on dev nvme1n1, logical block {n}, async page read"),
        (SHUT, "disk-error", STRANGE),
        (
            "INFO: task postgres:4120 blocked for more than 120 seconds.",
            "hung-task",
            "Killed process {n} (java) total-vm:1kB",
        ),
        (XID.format("48, pid=9"), "gpu-error", XID.format("13, pid={n}")),
    ],
)
@every_awk
def test_repetition_pushes_out_no_other_fault(told: str, kind: str, again: str, awk: Way) -> None:
    lines = [line(1000, told), *(line(1001 + n, again.format(n=n)) for n in range(300))]
    reading = parse(once("log", sent(lines, lines, [], awk)))
    assert lines[0] in [event.text for event in reading.of(kind)]
    assert reading.left_out
    # In the listing of errors, of a log that begins after them, all have one ring.
    reading = parse(once("log", sent([line(9999, "zyx: all is well")], lines, [], awk)))
    assert reading.known_since(kind, errors=True) == timedelta(seconds=1301 - MOST_OF_A_SORT)


def test_traces_of_other_cores_push_out_no_frame() -> None:
    heads = [line(1001 + n, f"CPU: {n} PID: {n} Comm: java Not tainted 5.4.0 #1") for n in range(300)]
    reading = read([], others=[line(1000, " memcg_numa_stat_show+0x181/0x2b0"), *heads])
    assert reading.of("stack-memcg-walk")
    # Without its head a trace may seem to be another's.
    assert reading.known_since("stack-memcg-walk") == reading.rings_begin["head"] > reading.begins


@every_awk
def test_no_part_of_a_trace_is_taken_for_a_whole_one(awk: Way) -> None:
    walks = "RIP: 0010:mem_cgroup_iter+0x{:x}/0x2d0"
    lockups = [line(1000, "watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [java:9]"), line(1000.5, walks.format(64))]
    reclaim = [
        line(1020 + 20 * n + part / 10, says)
        for n in range(60)
        for part, says in enumerate((walks.format(64 + 4 * n), " shrink_node+0xd2/0x3d0", " shrink_slab+0xd2/0x3d0"))
    ]
    reading = parse(once("log", sent([*lockups, *reclaim], [], [], awk)))
    assert not reading.of("stack-memcg-walk")
    assert reading.known_since("stack-memcg-walk") > timedelta(seconds=1000)


def test_kills_at_limits_of_cgroups_push_out_no_trace() -> None:
    limits = (" mem_cgroup_out_of_memory+0xbd/0xe0", " mem_cgroup_try_charge+0x86/0x190", " memcg_charge+0x1/0x9")
    kills = [line(1001 + n + part / 10, says) for n in range(90) for part, says in enumerate(limits)]
    reading = read([], others=[line(1000, "RIP: 0010:mem_cgroup_iter+0xa5/0xf0"), *kills])
    assert len(reading.of("stack-memcg-walk")) == 1
    assert reading.known_since("stack-memcg-walk") == reading.begins


@pytest.mark.parametrize(("says", "is_listed"), [(MOUNTED, False), ("z{n}: broken", True)], ids=["ring", "errors"])
@every_awk
def test_where_lines_were_left_out_it_is_said_since_when_none_was(says: str, is_listed: bool, awk: Way) -> None:
    lines = [line(1001 + n, says.format(n=n)) for n in range(3 * MOST_OF_A_SORT)]
    late, since = [line(9999, "zyx: all is well")], timedelta(seconds=1001 + 2 * MOST_OF_A_SORT)
    reading = parse(once("log", sent(late if is_listed else lines, lines if is_listed else [], [], awk)))
    assert reading.known_since("mounted", errors=True) == since
    assert reading.known_since("hung-task") == reading.begins < since or is_listed


def test_kill_whose_end_was_left_out_is_no_kill_of_the_machines() -> None:
    limit = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/a,task_memcg=/a,task=java,pid=1"
    begun = [
        line(1000 + 3 * n, f"worker{n} invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0") for n in range(300)
    ]
    assert not read([], others=[*begun, *(line(1001 + 3 * n, limit) for n in range(300))]).of("oom-begun")


@every_shell
@every_awk
def test_filter_reads_a_log_from_its_first_line_on_and_none_without_lines(awk: Way, shell: Way, tmp_path: Path) -> None:
    tool(tmp_path / "awk", f'echo begun >&2\nexec {shlex.join(awk)} "$@"')
    first = line(9, r"EXT4-fs error (device sda1): \t100%s  twice  ")
    (tmp_path / "log").write_text(f"{first}\n{line(10, 'zyx: all is well')}\n")
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    for said, answer in ((f"cat {tmp_path}/log", f"{first}\n-- journal: 2 lines, 0 left out --\n"), ("false", "")):
        argv = [*shell, *_filter_script(FILTER, "journal", said, "true")[1:]]
        done = subprocess.run(argv, env=path, capture_output=True, text=True, timeout=30, check=True)
        assert (done.stdout, done.stderr) == (answer, "begun\n" if answer else "")


def script_where_journals_are(folder: Path) -> str:
    (where, as_root), script = PROBE.commands[0].where, PROBE.commands[0].argv[2]
    assert where == as_root
    script = f"{where} || exit 0; {script}"
    assert "/var/log/journal" in script
    return script.replace("/run/log/journal", str(folder / "run")).replace("/var/log/journal", str(folder / "var"))


def test_journal_is_not_asked_where_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "var").mkdir()
    tool(tmp_path / "journalctl", "echo asked")
    argv = ["sh", "-c", script_where_journals_are(tmp_path), *PROBE.commands[0].argv[3:]]
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    assert subprocess.run(argv, env=path, capture_output=True, timeout=30, check=True).stdout == b""
    (tmp_path / "var" / "0123").mkdir()
    assert subprocess.run(argv, env=path, capture_output=True, timeout=30, check=True).stdout != b""


@pytest.mark.parametrize(("levels_take", "kinds"), [(0, ("error",)), (5, ())], ids=["at once", "too long"])
def test_levels_are_not_waited_for_long(tmp_path: Path, levels_take: int, kinds: tuple[str, ...]) -> None:
    log = [line(1000 + 60 * n, STRANGE.format(n=n)) for n in range(9)]
    (tmp_path / "log").write_text("\n".join(log) + "\n")
    grave = '*--since*|*"-p crit"*) ;;'
    errors = f'*"-p err"*) cat {tmp_path}/log; sleep {levels_take};;'
    tool(tmp_path / "journalctl", f'case "$*" in {grave} {errors} *) cat {tmp_path}/log;; esac')
    (tmp_path / "run" / "0123").mkdir(parents=True)
    waits = "timeout 0.3 " if levels_take else "timeout 20 "
    script = script_where_journals_are(tmp_path).replace("timeout 3 ", waits)
    argv = ["sh", "-c", script, *PROBE.commands[0].argv[3:]]
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(argv, env=path, capture_output=True, text=True, timeout=30, check=True)
    reading = parse(once("log", done.stdout))
    assert (reading.lines_seen, reading.kinds) == (9, kinds)


@pytest.mark.parametrize("habit", own_table().habits)
def test_every_habit_is_shown_by_an_ordinary_node(habit: str) -> None:
    """A habit without a node of its own could hide a fault, and nobody would see it."""
    assert any(re.match(habit, text[3:]) for text in ORDINARY), habit


@every_awk
def test_further_lines_of_a_message_belong_to_its_first(awk: Way) -> None:
    first = line(900, "amdgpu: [powerplay]")
    told = f"{first} failed to send message 261 ret is 65535"
    further = "                          failed to send message 261 ret is 65535"
    log = [first, further, line(901, "zyx: all is well"), line(902, "IPv6: ADDRCONF(NETDEV_UP): eth0"), further]
    answer = sent(log, [first, further], [first, further], awk)
    assert answer.splitlines() == [f"<2>{told}", "-- journal: 3 lines, 0 left out, from 900 s, errors from 900 s --"]
    assert sent(log, [], [], awk).splitlines()[0] == told
    assert [event.text for event in parse(once("log", answer)).of("grave")] == [told]


@every_awk
def test_name_of_a_host_is_no_failure(awk: Way) -> None:
    told = "[  901.000000] failover-2 kernel: zyx: it failed"
    log = [f"[  {900 + n}.000000] failover-2 kernel: zyx: all is well" for n in range(1, 99)]
    assert sent([told, *log], [], [], awk).splitlines()[:-1] == [told]


@every_awk
def test_device_that_was_heard_of_since_has_started(awk: Way) -> None:
    gone = [line(4, f"ixgbe: probe of 0000:41:00.{port} failed with error -5") for port in (0, 1)]
    later = line(90, "ixgbe 0000:41:00.0: registered PHC device on eth2")
    assert sent([*gone, later], [], [], awk).splitlines()[:-1] == [gone[1]]
    assert sent([*gone, later, gone[0]], [], [], awk).splitlines()[:-1] == [gone[1], gone[0]]
    reading = parse(once("log", sent([*gone, later], [], [], awk)))
    assert reading.devices_not_started == 1
    assert reading.lines_of("devices_not_started") == (gone[1],)


def test_complaint_that_the_kernel_counts_repeats() -> None:
    failed = line(1000, "LustreError: 4411:0:(client.c:12:x()) @@@ it failed")
    counted = line(1003, "LustreError: Skipped 9 previous similar messages")
    assert read([], others=[failed, counted]).last_complaint_seconds == 1000
    assert read([], others=[failed, counted.replace("1003", "1009")]).last_complaint_seconds < 0
