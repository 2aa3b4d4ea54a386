"""kernel_log: resets with their reason, lockups with their core, and an empty log that is never a quiet one."""

import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.errors import CannotRead
from bot.probes.formats.kernel_filter import FILTER, MOST_OF_A_SORT
from bot.probes.formats.kernel_line import KernelEvent, kernel_line
from bot.probes.kernel_log import LAST_BYTES, PROBE, KernelLogReading, _newest_lines_script, parse
from tests.readings.node_tools import AWKS, Way, every_awk, filtered
from tests.readings.recorded import CAPTURES, once

RECORDED = CAPTURES / "kernel_log"
ENA = "ena 0000:20:03.0 eth0: "
STARVED = "napi handler hasn't been called for a long time but is scheduled"
DONE = "ena 0000:20:03.0: Device reset completed successfully, Driver info: Elastic Network Adapter (ENA) v2.11.0g"


def read(text: str, origin: str = "dmesg", awk: Way = AWKS[0]) -> KernelLogReading:
    """Return what is read of what the node sends of this log."""
    return parse(once("log", filtered(FILTER, f"{text}\n-- whole --\n", awk, o=origin)))


def only(text: str) -> KernelEvent:
    """The one event that a line without any prefix tells."""
    (event,) = read(text).events
    return event


@pytest.mark.parametrize("text", ["", "-- dmesg: 0 lines, 0 left out --", "[1.0] x\n-- dmesg: 5 li"])
def test_empty_or_cut_log_is_unread(text: str) -> None:
    with pytest.raises(CannotRead):
        parse(once("log", text))


@every_awk
def test_node_sends_nothing_of_an_empty_or_broken_log(awk: Way) -> None:
    for text in ("", "-- whole --\n", "[1.0] Keep alive watchdog timeout\n"):
        assert filtered(FILTER, text, awk, o="dmesg") == ""


def test_swapped_numbers_are_only_2_17_0s() -> None:
    boot = "ena 0000:20:03.0: Elastic Network Adapter (ENA) v{}g\n"
    pair = ENA + "[2/2] qid: 39, napi CPU: 8"
    for version, queue, core in (("2.17.0", 8, 39), ("2.18.0", 39, 8)):
        (event,) = read(boot.format(version) + pair).events
        assert (event.queue, event.core) == (queue, core)


def test_reset_that_is_begun_and_ended_is_one() -> None:
    reading = read(f"{ENA}Keep alive watchdog timeout.\n{ENA}Trigger reset is on\n{DONE}")
    assert [(event.kind, event.reason) for event in reading.events[1:]] == [("nic-reset", "nic-keepalive")]
    assert "completed successfully" in reading.events[1].text


def test_old_drivers_say_success_after_a_failure() -> None:
    failed = "ena 0000:20:03.0: Restore attempt failed."
    reading = read(f"{ENA}Trigger reset is on\n{failed}\n{DONE}\n{ENA}Trigger reset is on\n{DONE}")
    assert [event.kind for event in reading.events] == ["nic-reset-failed", "nic-reset"]
    assert reading.nic_resets == 2


def test_reasons_are_each_resets_own() -> None:
    lines = [
        f"[ 100.000000] {ENA}{STARVED}",
        f"[ 100.200000] {DONE}",
        f"[ 300.000000] {ENA}Keep alive watchdog timeout.",
        f"[ 300.100000] {DONE}",
        f"[ 500.000000] {ENA}Keep alive watchdog timeout.",
        f"[ 900.100000] {DONE}",
        f"[1000.000000] {DONE.replace('20:03.0', '21:03.0')}",
    ]
    resets = read("\n".join(lines)).of("nic-reset")
    assert [reset.reason for reset in resets] == ["nic-starved", "nic-keepalive", None, None]
    assert [reset.device for reset in resets] == ["eth0", "eth0", "eth0", "0000:21:03.0"]


def test_storm_of_one_sort_does_not_push_another_out() -> None:
    storm = "\n".join(f"[{number}.000000] nf_conntrack: table full, dropping packet" for number in range(10, 5000))
    reading = read(f"[1.000000] {ENA}{STARVED}\n{storm}\n[9999.000000] {DONE}")
    assert (len(reading.of("conntrack-full")), reading.lines_seen) == (MOST_OF_A_SORT, 4992)
    assert reading.left_out == 4990 - MOST_OF_A_SORT
    assert reading.events[0].kind == "nic-starved"
    assert reading.kinds == ("nic-starved", "conntrack-full", "nic-reset")


def test_hundred_lines_of_one_stall_are_three() -> None:
    many = "\n".join(f"{ENA}Found a Tx that wasn't completed on time, qid 4, index {index}." for index in range(128))
    assert len(read(f"{many}\n{DONE}").events) == 4


PREFIXES = {
    "bare": ("{}", None),
    "dmesg": ("[18509.800135] {}", 18509.800135),
    "dmesg-caller": ("[18509.800135][  T123] {}", 18509.800135),
    "dmesg-raw": ("<4>[18509.800135] {}", 18509.800135),
    "dmesg-delta": ("[  +0.005106] {}", None),
    "dmesg-reltime": ("[Nov21 10:10] {}", None),
    "dmesg-ctime": ("[Sat Nov 21 10:10:21 2026] {}", None),
    "dmesg-iso": ("2026-11-21T10:10:21,123456+00:00 {}", None),
    "syslog": ("Jul 14 10:10:21 myserver.hostname kernel: {}", None),
    "syslog-time": ("Jul  4 10:10:21 myserver.hostname kernel: [18509.800135] {}", 18509.800135),
    "syslog-iso": ("2026-11-21T10:10:21.123456+00:00 myserver kernel: {}", None),
    "no-date": ("kernel: [18509.800135] {}", 18509.800135),
}


@pytest.mark.parametrize("prefix", PREFIXES)
def test_prefixes(prefix: str) -> None:
    form, seconds = PREFIXES[prefix]
    event = only(form.format(f"{ENA}Keep alive watchdog timeout."))
    assert (event.kind, event.device) == ("nic-keepalive", "eth0")
    assert event.since_boot == (None if seconds is None else timedelta(seconds=seconds))


def test_journal_believes_the_kernel_alone() -> None:
    said = f"{ENA}Keep alive watchdog timeout."
    assert len(read(f"[ 12.500000] node-1 kernel: {said}", "journal").events) == 1
    for speaker in ("mallory[4242]", "mallory", "kernel-ish"):
        assert read(f"[ 12.500000] node-1 {speaker}: {said}", "journal").events == ()
    assert kernel_line(f"mallory: {said}", from_journal=True) is None


def test_stall_learns_its_core_and_process_from_the_lines_below() -> None:
    lines = [
        "[100.000000] rcu: INFO: rcu_sched self-detected stall on CPU",
        "[100.000001] rcu: \t39-....: (20999 ticks this GP) idle=7f2/1/0x4000000000000002 softirq=1/1 fqs=5229",
        "[100.000002] CPU: 39 PID: 4242 Comm: kubelet Tainted: G           OE     5.4.0-1084-aws #91~18.04.1-Ubuntu",
    ]
    (event,) = read("\n".join(lines)).events
    assert (event.kind, event.core, event.process) == ("rcu-stall", 39, "kubelet")


def trace(*functions: str, head: str = "CPU: 39 UID: 0 PID: 42 Comm: kubelet Not tainted 6.12.0 #1") -> str:
    frames = [f"[100.00000{number}]  {function}+0xa5/0xf0" for number, function in enumerate(functions, start=1)]
    return "\n".join([f"[100.000000] {head}", "[100.000000] Call Trace:", *frames])


@pytest.mark.parametrize(
    "function",
    [
        "mem_cgroup_nr_lru_pages",
        "mem_cgroup_node_nr_lru_pages",
        "memcg_numa_stat_show.isra.0",
        "memcg_stat_show",
        "mem_cgroup_iter",
        "RIP: 0010:memory_stat_show",
        "[<ffffffff81234567>] mem_cgroup_iter",
    ],
)
def test_trace_that_walks_statistics_is_one_event(function: str) -> None:
    (event,) = read(trace("cpumask_next", function, "seq_read", function)).events
    assert (event.kind, event.core, event.process) == ("stack-memcg-walk", 39, "kubelet")


@pytest.mark.parametrize("function", ["cgroup_rstat_flush_locked", "css_rstat_flush", "RIP: 0010:cgroup_rstat_flush"])
def test_trace_in_a_flush_of_statistics_is_no_walk(function: str) -> None:
    events = read(trace("cpumask_next", function, "seq_read", function)).events
    assert "stack-memcg-walk" not in {event.kind for event in events}


def test_reclaim_that_walks_groups_reads_no_statistics() -> None:
    before = "[99.000000] eth0: link becomes ready\n"
    assert read(before + trace("mem_cgroup_iter", "shrink_node", "do_try_to_free_pages")).events == ()
    assert read(before + trace("? mem_cgroup_iter", "? memcg_stat_show")).events == ()
    (event,) = read(trace("memcg_stat_show", "shrink_node")).events
    assert event.kind == "stack-memcg-walk"


def test_trace_without_a_head_names_nobody() -> None:
    (event,) = read("[900.000000]  memcg_stat_show+0x16f/0x1f0").events
    assert (event.core, event.process) == (None, "")
    late = "[99.000000] eth0: link becomes ready\n" + trace("seq_read") + "\n[900.000000]  memcg_stat_show+0x16f/0x1f0"
    (event,) = read(late).events
    assert (event.core, event.process) == (None, "")


def kinds(*lines: str) -> list[tuple[str, str]]:
    """What lines tell that come long after the one before, and the end of each that does."""
    said = [f"[{50000 + number * 0.001:.6f}] {line}" for number, line in enumerate(lines)]
    events = read("\n".join(["[40000.000000] eth0: link becomes ready", *said])).events
    return [(event.kind, event.text[-8:]) for event in events]


DUMPS = [
    " [<ffffffffa036bafa>] ? exp_find+0xbc/0xc8 [nfsd]",
    "[<805c4350>] (vchiq_ioctl) from [<802a10a8>] (do_vfs_ioctl+0xb0/0x7b0)",
    "[c000002fc621f1e0] [c00000000007c6f0] sched_show_task+0x10c/0x118 (unreliable)",
    "RAX: 0000000000000000 RBX: 0000000000000000 RCX: 00000000000254bb",
    "r10: 60000013  r9 : 00000000  r8 : c09e3028",
    "00000000d2f014e1: 0000000000000002 (0x2)",
    " 00000001b839fe90 ffff880fb839fe98 ffff880fb839fea0 7fffffffffffffff",
    "CPU: 0 PID: 701 Comm: kworker/0:2 Tainted: G         C        4.19.58+ #1245",
    "Call Trace:",
    "---[ end trace c0a2e50280aaa3d4 ]---",
]


def test_newest_of_many_dumps_is_told() -> None:
    dumps = [f"[{50000 + 100 * number}.000000] Call Trace:" for number in range(2 * MOST_OF_A_SORT)]
    assert read("\n".join(dumps)).last_begun_seconds == 50000 + 100 * (2 * MOST_OF_A_SORT - 1)


@pytest.mark.parametrize("dump", DUMPS)
def test_dump_that_nothing_is_said_before_tells_that_its_reason_is_lost(dump: str) -> None:
    assert kinds(dump) == [("begun", dump[-8:])]
    assert kinds("zram: what somebody asked for is shown", dump) == []
    assert [kind for kind, _ in kinds(dump, "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [x:1]")] == [
        "soft-lockup"
    ]
    (event,) = read(f"[3.638045] {dump}\n[3.638045] ---[ end trace 07e764b79299f641 ]---").events  # the log's first
    assert event.kind == "begun"


def test_kill_that_begins_tells_where_the_log_does_not_tell_of_its_end() -> None:
    begun = "java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0"
    killed = "Out of memory: Killed process 812 (java) total-vm:1kB, anon-rss:1kB"
    assert [kind for kind, _ in kinds(begun)] == ["oom-begun"]
    assert [kind for kind, _ in kinds(begun, killed)] == ["oom-kill"]
    assert [kind for kind, _ in kinds(begun, killed, begun)] == ["oom-kill", "oom-begun"]
    assert kinds(begun, " mem_cgroup_out_of_memory+0xbd/0xe0") == []


def test_second_line_of_a_kill_counts_where_the_first_is_lost() -> None:
    ended = "Killed process 812 (java), UID 1000, total-vm:674616kB, anon-rss:133380kB, file-rss:0kB"
    first = "Memory cgroup out of memory: Kill process 812 (java) score 901 or sacrifice child"
    assert [kind for kind, _ in kinds(ended, ended)] == ["oom-kill", "oom-kill"]
    assert kinds(first, ended) == [("oom-kill", first[-8:])]
    begun = "java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0"
    assert [kind for kind, _ in kinds(begun, ended)] == ["oom-begun"]


def test_errors_of_a_stick_that_was_pulled_are_none_and_those_of_a_disk_are() -> None:
    attached = "sd 6:0:0:0: [sdb] Attached SCSI removable disk"
    pulled = "usb 1-3: USB disconnect, device number 3"
    lost = "Buffer I/O error on dev sdb1, logical block 32768, lost async page write"
    assert kinds(attached, pulled, lost) == kinds(attached, lost, pulled) == []
    assert [kind for kind, _ in kinds(pulled, lost)] == ["disk-error"]
    assert [kind for kind, _ in kinds(attached, pulled, lost.replace("sdb1", "sdc1"))] == ["disk-error"]
    assert [kind for kind, _ in kinds(attached, pulled, attached, lost)] == ["disk-error"]


def test_every_way_of_reading_ends_in_the_filter() -> None:
    (command,) = PROBE.commands
    ways = (command.argv, *command.alternatives)
    assert [("sudo -n" in way[2], "dmesg" in way[2].partition("awk")[0]) for way in ways] == [
        (False, False),
        (True, False),
        (False, True),
        (True, True),
    ]
    assert all("'-- whole --' && read b _ " in way[2] for way in ways)
    assert all(
        ' | timeout 3 cat; } | if IFS= read -r l; then printf "%s\\n" "$l" | awk -v o=' in way[2] for way in ways
    )


def test_failures_that_repeat_are_shown_without_the_single_one_of_another_device() -> None:
    again = [f"[{100 + 70 * n}.000000] bnxt_en 0000:ca:00.0 eth0: Error (timeout: 500015) len:0" for n in range(3)]
    reading = read("\n".join([*again, "[400.000000] hpsa 0000:03:00.0: failed to enter simple mode"]))
    assert len(reading.of("complaint")) == 4
    assert reading.last_complaint_seconds == 240
    assert reading.lines_of("last_complaint_seconds") == tuple(again)


def test_line_far_longer_than_the_kernel_writes_is_cut_before_it_is_matched() -> None:
    event = only("[1.000000] INFO: task tar:1 blocked for more than 120 seconds." + " last napi 1 usec" * 4000)
    assert (event.kind, len(event.text)) == ("hung-task", 4096)


@pytest.mark.parametrize("long", [40, 200])
def test_end_of_the_log_does_not_begin_within_a_line(long: int, tmp_path: Path) -> None:
    lines = [f"[{number:5}.0] audit: a1=--password a2=Fake0hunter2fake {'y' * long}" for number in range(500)]
    log = tmp_path / "log"
    log.write_text("".join(f"{line}\n" for line in lines))
    said = subprocess.run(_newest_lines_script(f"cat {log}"), capture_output=True, text=True, check=True).stdout
    kept = said.splitlines()
    assert kept == lines[-len(kept) :]
    assert len(kept) == 400 if long == 40 else 48_000 < len(said) < LAST_BYTES
    log.write_text("one\n")
    assert subprocess.run(_newest_lines_script(f"cat {log}"), capture_output=True, text=True).stdout == "one\n"


# --- stretches in which the kernel said more than a serial line prints

PACKET = "netfilter-in: IN=eth0 OUT= SRC=203.0.113.7 DST=10.0.0.7 LEN=60 PROTO=TCP SPT=40112 DPT=22 " + "x" * 34


def flood(start: float, lines: int, text: str = PACKET) -> str:
    return "\n".join(f"[{start + at / lines * 9:12.6f}] {text}" for at in range(lines))


@every_awk
def test_stretches_in_which_more_is_said_than_a_serial_line_prints_are_told(awk: Way) -> None:
    quiet, loud = flood(700.0, 600), flood(900.0, 1_000)
    (burst,) = read(f"{quiet}\n{loud}\n[950.000000] {DONE}", awk=awk).bursts
    assert (burst.since_boot, burst.line_count) == (timedelta(seconds=900), 1_000)
    assert burst.size_bytes == 1_000 * len(f"[  900.000000] {PACKET}")
    assert burst.text.endswith(PACKET)
    assert [burst.apart(timedelta(seconds=at)).total_seconds() for at in (860, 905, 931)] == [40, 0, 21]


def test_journals_host_name_a_boot_and_the_cards_own_dump_are_no_burst() -> None:
    named = flood(900.0, 700, "a-node-with-a-very-long-name-in-a-zone.of.a.region.example kernel: " + PACKET)
    assert read(named, "journal").bursts == ()
    assert read(f"{flood(2.0, 3_000)}\n{flood(40.0, 3_000)}").bursts == ()
    assert read(flood(900.0, 3_000, f"{ENA}queue_5_tx_cnt: 3502 {'x' * 60}")).bursts == ()
    assert read("\n".join([f"[Sat Nov 21 10:10:21 2026] {PACKET}"] * 3_000)).bursts == ()


def test_what_a_line_of_a_burst_holds_is_made_safe() -> None:
    (burst,) = read(flood(900.0, 1_200, f"\x1b[31m\u202e<!channel> {PACKET}")).bursts
    assert "\x1b" not in burst.text
    assert "\u202e" not in burst.text
    assert read("-- burst 900 5 9999999999999 x\n[1.000000] x").bursts == ()
