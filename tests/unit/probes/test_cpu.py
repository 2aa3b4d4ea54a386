"""cpu: three shapes of one answer, right figures or a reason."""

import json

import pytest

from bot.domain.command import Outputs
from bot.domain.errors import CannotRead
from bot.probes.cpu import CpuReading, parse
from tests.readings.recorded import CAPTURES, once, recorded, run

HEADER = "CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle"


def read(text: str, **more: object) -> CpuReading:
    return parse(once("mpstat", text, **more))


def table(*samples: dict[int, str], before: str = "10:00:00", average: bool = True) -> str:
    """mpstat's text: a second a sample, a row a core; a row is its ten shares."""
    text, second = f"Linux 5.4.0 (node) \t11/21/26 \t_x86_64_\t({len(samples[0])} CPU)\n", int(before[-2:])
    for sample in samples:
        text += f"\n{before[:-2]}{second:02}     {HEADER}\n"
        second += 1
        text += "".join(f"{before[:-2]}{second:02}  {core:6}  {row}\n" for core, row in sample.items())
    return text + (f"\nAverage:     {HEADER}\nAverage:     all   {IDLE}\n" if average else "")


IDLE = "1.00 0.00 1.00 0.00 0.00 0.00 0.00 0.00 0.00 98.00"
HELD = "0.00 0.00 99.00 0.00 0.00 1.00 0.00 0.00 0.00 0.00"


@pytest.mark.parametrize("shape", ["", "-text", "-proc-stat"])
def test_the_core_held_in_the_kernel_is_named_in_every_shape(shape: str) -> None:
    cpu = parse(recorded(CAPTURES / "cpu" / f"debian-12--core-1-held-in-kernel{shape}.out"))
    assert cpu.origin == {"": "mpstat json", "-text": "mpstat text", "-proc-stat": "/proc/stat"}[shape]
    assert [held.core for held in cpu.held("sys_percent", 70, 3)] == [1]
    assert cpu.held("sys_percent", 70, 3)[0].seconds == 3
    assert cpu.hottest("sys_percent")[0] == 1
    assert all(len(second) == 2 for second in cpu.seconds)


def test_three_seconds_on_one_core_of_96_are_seen_and_named() -> None:
    quiet = dict.fromkeys(range(96), IDLE)
    cpu = read(table(quiet, quiet | {39: HELD}, quiet | {39: HELD}, quiet | {39: HELD}, quiet))
    (held,) = cpu.held("sys_percent", 90, 2)
    assert (held.core, held.seconds, held.mean_percent, cpu.cores) == (39, 3, 99.0, 96)
    assert held.raw[0] == f"10:00:02 39 {HELD}"
    assert cpu.sys_percent < 2.1


def test_guest_and_niced_work_stand_beside_user_time_as_mpstat_has_them() -> None:
    cpu = read(table({0: "10.00 20.00 30.00 0.00 0.00 0.00 0.00 5.00 6.00 29.00"}))
    core = cpu.seconds[0][0]
    assert (core.usr_percent, core.nice_percent, core.guest_percent, core.idle_percent) == (10, 20, 11, 29)


def test_proc_stat_takes_guests_out_of_user_time() -> None:
    text = "uptime 10.00\ncpu0 100 50 0 100 0 0 0 0 40 20\nuptime 11.00\ncpu0 160 70 0 120 0 0 0 0 80 30\n"
    core = read(text).seconds[0][0]
    assert (core.usr_percent, core.nice_percent, core.guest_percent, core.idle_percent) == (20, 10, 50, 20)


def test_proc_stat_counts_idle_time_that_went_back_as_none() -> None:
    text = "uptime 10.00\ncpu0 0 0 0 500 30 0 0\nuptime 11.00\ncpu0 0 0 90 499 40 0 0\n"
    core = read(text).seconds[0][0]
    assert (core.sys_percent, core.iowait_percent, core.idle_percent) == (90, 10, 0)


def test_a_late_look_makes_a_longer_sample() -> None:
    text = "".join(
        f"uptime {at}\ncpu0 0 0 {ticks} 0 0 0 0\n" for at, ticks in (("5.00", 0), ("6.01", 101), ("8.51", 351))
    )
    cpu = read(text)
    assert [second[0].span_seconds for second in cpu.seconds] == [1.01, 2.5]
    assert cpu.held("sys_percent", 90, 3)[0].seconds == 3


def test_a_core_that_goes_offline_is_absent_not_idle() -> None:
    text = "uptime 1.00\ncpu0 1 0 0 0 0 0 0\ncpu1 1 0 0 0 0 0 0\nuptime 2.00\ncpu0 101 0 0 0 0 0 0\n"
    assert [core.core for core in read(text).seconds[0]] == [0]
    zeros = " ".join(["0.00"] * 10)
    assert [core.core for core in read(table({0: IDLE, 1: zeros})).seconds[0]] == [0]


def test_blank_lines_do_not_matter_for_a_batch_drops_them() -> None:
    text = table({0: IDLE, 1: HELD}, {0: IDLE, 1: HELD})
    assert read("\n".join(line for line in text.split("\n") if line)) == read(text)


def test_samples_of_two_seconds_count_as_two_seconds() -> None:
    text = table({0: HELD}, {0: HELD}, {0: HELD})
    for at in (3, 2, 1):
        text = text.replace(f"10:00:0{at}", f"10:00:0{2 * at}")
    cpu = read(text)
    assert [second[0].span_seconds for second in cpu.seconds] == [2, 2, 2]
    assert cpu.held("sys_percent", 90, 6)[0].seconds == 6


def test_a_run_over_midnight_is_one_second_a_sample() -> None:
    text = table({0: IDLE}).replace("10:00:00", "11:59:59 PM").replace("10:00:01", "12:00:00 AM")
    assert read(text).seconds[0][0].span_seconds == 1.0


def test_old_sysstat_without_guests_and_with_interrupts_in_the_table_is_read() -> None:
    head = "CPU   %user   %nice    %sys %iowait    %irq   %soft  %steal   %idle    intr/s"
    text = (
        f"10:00:00 AM  {head}\n10:00:01 AM    0   1.00 0.00 2.00 0.00 0.00 0.00 0.00 97.00 1234.00\nAverage: {head}\n"
    )
    core = read(text).seconds[0][0]
    assert (core.usr_percent, core.sys_percent, core.idle_percent) == (1, 2, 97)


def test_text_cut_short_keeps_all_but_its_last_sample() -> None:
    text = table({0: IDLE, 1: HELD}, {0: IDLE, 1: HELD}, {0: IDLE, 1: HELD}, average=False)
    assert len(read(text[:-20]).seconds) == 2
    with pytest.raises(CannotRead, match="cut short"):
        read(table({0: IDLE}, average=False))


def document(*samples: list[dict[str, object]]) -> str:
    rows = [{"timestamp": f"10:00:{at:02}", "cpu-load": load} for at, load in enumerate(samples)]
    return json.dumps({"sysstat": {"hosts": [{"statistics": rows}]}}, indent=1)


def row(core: str, **shares: object) -> dict[str, object]:
    zero: dict[str, object] = dict.fromkeys(
        ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice"), 0.0
    )
    return {"cpu": core, **zero, "idle": 100.0, **shares}


def test_a_stalled_mpstat_keeps_its_whole_samples() -> None:
    text = document([row("all"), row("0")], [row("all"), row("0", sys=90.0, idle=10.0)], [row("all"), row("0")])
    cut = text[: text.index('"timestamp": "10:00:02"') + 60]
    cpu = parse(Outputs(run("mpstat", cut, exit_status=124)))
    assert [second[0].sys_percent for second in cpu.seconds] == [0.0, 90.0]


def test_one_sample_counts_only_when_mpstat_took_its_time() -> None:
    one = document([row("0")])
    assert read(one, took=1.01).cores == 1
    for took in (0.02, None):
        with pytest.raises(CannotRead, match="since boot"):
            read(one, took=took)


def test_aggregate_rows_are_no_cores() -> None:
    assert read(document([row("-1"), row("0")], [row("all"), row("0")])).cores == 1


@pytest.mark.parametrize(
    ("text", "because"),
    [
        (document([row("0", sys=float("nan"))] * 1, [row("0")]), "no figure"),
        (document([row("0", sys=float("inf"))], [row("0")]), "no figure"),
        (document([row("0", sys=-1.0)], [row("0")]), "between 0 and 100"),
        (document([row("0", sys=101.0)], [row("0")]), "between 0 and 100"),
        (document([row("0", sys=99.0)], [row("0")]), "add up to 199"),
        (document([row("0", sys="99")], [row("0")]), "no figure"),
        (document([row("0", sys=True)], [row("0")]), "no figure"),
        (document([row("0", sys=None)], [row("0")]), "no figure"),
        (document([row("0"), row("0")], [row("0")]), "impossible core"),
        (document([row("²")], [row("0")]), "impossible core"),
        (document([row("99999")], [row("0")]), "no core 99999"),
        (document([row("all")], [row("all")]), "no row for a single core"),
        (document(), "no sample"),
        ('{"sysstat": 5}', "not a report"),
        ('{"sysstat": {"hosts": []}}', "not a report"),
        ("[" * 100_000, "no table"),
        ('{"a":' * 100_000, "not a report"),
        (document([row("0")], [row("0")]).replace(".0", ",0"), "cannot be read"),  # sysstat 11.5.1 in a German locale
        (table({0: IDLE.replace("98", "198")}), "between 0 and 100"),
        (table({0: IDLE.replace("98.00", "nan")}), "not a number"),
        (table({0: IDLE.replace("98.00", "-98.00")}), "not a number"),
        (table({0: IDLE + " 7.00"}), "malformed"),
        (table({0: "1.00"}), "malformed"),
        (table({0: IDLE}).replace("10:00:01", "10:00:00"), "since boot"),
        (table({0: IDLE}).replace("10:00:00", "09:00:00"), "too far apart"),
        ("cpu  1 2 3 4 5 6 7\ncpu0 1 2 3 4 5 6 7\n", "has no uptime"),
        ("uptime 1.00\ncpu0 1 2 3 4 5 6 7\n", "single look"),
        ("uptime 1.00\ncpu0 1 2 3 4 5 6 7\nuptime 2.00\ncpu0 1 2 3 4 5 6 7\n", "moved"),
        ("uptime 2.00\ncpu0 1 2 3 4 5 6 7\nuptime 1.00\ncpu0 9 9 9 9 9 9 9\n", "a second apart"),
        ("uptime 1.00\ncpu0 1 2 3\n", "malformed"),
        ("uptime 1.00\ncpu0 1 2 3 4 5 6 7\ncpu0 1 2 3 4 5 6 7\n", "twice"),
        ("mpstat: command garbled", "no table"),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_reason(text: str, because: str) -> None:
    with pytest.raises(CannotRead, match=because):
        read(text)
