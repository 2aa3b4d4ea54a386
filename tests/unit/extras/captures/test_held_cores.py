"""Who held a core, told by samples."""

from collections.abc import Iterable

from bot.extras.captures.held_cores import HeldCoreFinder, HeldStretch, joined, without_samples
from bot.extras.profiles.reader import Reader

KERNEL, USER = "ffffffff81000010", "00007f0000000010"


def text(core: int, comm: str, pid: int, at: float, function: str = "f", address: str = KERNEL) -> str:
    frame = f"\t{address} {function}+0x10 ([kernel.kallsyms])\n"
    return f"{comm} {pid}/{pid} [{core:03}] {at:.9f}: cpu-clock/freq=49/: \n{frame}\n"


def ticks(begins: float, seconds: float) -> list[float]:
    return [begins + number / 49 for number in range(round(seconds * 49))]


def held(parts: Iterable[str]) -> list[HeldStretch]:
    found = HeldCoreFinder()
    reader = Reader(each=found)
    reader.feed("".join(parts).encode())
    reader.finish()
    return found.finish()


def test_one_process_in_the_kernel_for_seconds_holds_its_core() -> None:
    (stretch,) = held(text(39, "kubelet", 77, at, "walk") for at in ticks(10, 3))
    assert (stretch.core, stretch.process, stretch.pid, stretch.function) == (39, "kubelet", 77, "walk")
    assert 2.9 < stretch.seconds < 3.0
    assert stretch.share == 1.0


def test_a_program_that_computes_holds_nothing() -> None:
    assert held(text(1, "python", 5, at, address=USER) for at in ticks(10, 5)) == []


def test_an_idle_core_is_not_held() -> None:
    assert held(text(1, "swapper", 0, at, "native_safe_halt") for at in ticks(10, 5)) == []


def test_an_interrupt_meanwhile_does_not_end_it_and_lowers_the_share() -> None:
    parts = [text(2, "kubelet", 77, at, "walk") for at in ticks(10, 1)]
    parts += [text(2, "ksoftirqd/2", 20, 11.02, "net_rx_action"), text(2, "ksoftirqd/2", 20, 11.04, "net_rx_action")]
    parts += [text(2, "kubelet", 77, at, "walk") for at in ticks(11.06, 1)]
    (stretch,) = held(parts)
    assert stretch.pid == 77
    assert stretch.seconds > 2
    assert 0.97 < stretch.share < 1


def test_a_pause_ends_it() -> None:
    parts = [text(2, "kubelet", 77, at) for at in (*ticks(10, 1), *ticks(12, 1))]
    assert [round(stretch.begins) for stretch in held(parts)] == [10, 12]


def test_another_process_ends_it() -> None:
    parts = [text(2, "a", 1, at) for at in ticks(10, 1)] + [text(2, "b", 2, at) for at in ticks(11, 3)]
    assert [stretch.process for stretch in held(parts)] == ["b", "a"], "the longest first"


def test_cores_are_told_apart() -> None:
    parts = [text(core, "a", core, at) for at in ticks(10, 2) for core in (1, 2)]
    assert sorted(stretch.core for stretch in held(parts)) == [1, 2]


def test_times_in_which_no_core_has_a_sample_are_told_and_segments_may_overlap() -> None:
    found = HeldCoreFinder()
    reader = Reader(each=found)
    late, next_segment = ticks(10, 0.1), (*ticks(30, 1), *ticks(38, 2), *ticks(31, 6))  # written late in the one before
    for at in (*ticks(0, 5), *late, *ticks(20, 0.5), *next_segment):
        reader.feed(text(1, "a", 1, at, address=USER).encode())
    reader.finish()
    silent = [tuple(map(round, each)) for each in without_samples(found.sampled, 0, 45)]
    assert silent == [(5, 10), (10, 20), (20, 30), (40, 45)]
    assert without_samples(found.sampled, 21.5, 31.9) == [(21.5, 30.0)]
    for number in range(3000):  # of a node that makes its text up
        reader.feed(text(1, "a", 1, 100 * (number % 2) + number, address=USER).encode())
    assert len(found.sampled) == 1000


def test_longest_is_found_among_thousands() -> None:
    parts = [
        text(core, "a", 1000 * core + number, 10 + number * 0.7 + at)
        for number in range(100)
        for at in (0, 0.2, 0.4, 0.6)
        for core in range(30)
    ]
    (longest, *others) = held([*parts, *(text(99, "kubelet", 77, at) for at in ticks(81, 9))])
    assert (longest.process, len(others) < 2000) == ("kubelet", True)


def test_what_goes_on_in_the_next_segment_is_one() -> None:
    before = held(text(2, "kubelet", 77, at, "walk") for at in ticks(10, 3))
    after = held([*(text(2, "kubelet", 77, at, "spin") for at in ticks(13, 9)), text(2, "a", 1, 22)])
    (whole,) = joined([*after, *before, *held(text(3, "kubelet", 77, at) for at in ticks(13, 1))])[:1]
    assert (whole.begins, round(whole.ends), whole.function, round(whole.share, 2)) == (10, 22, "spin", 0.75)
    assert len(joined([*held(text(2, "a", 77, at) for at in ticks(13.3, 3)), *before])) == 2


def test_what_a_node_calls_its_processes_stays_on_one_line() -> None:
    (stretch,) = held(text(1, "\x1b[2J<b>x", 5, at) for at in ticks(10, 2))
    assert "\x1b" not in stretch.says


def test_function_named_with_a_secret_shows_none() -> None:
    (stretch,) = held(text(1, "node", 5, at, "get:glpat-AbCdEfGhIjKlMnOpQrSt") for at in ticks(10, 2))
    assert "in get:[redacted: token] for" in stretch.says


def test_a_process_that_took_its_name_late_has_that_name() -> None:
    parts = [text(2, "perl", 7, at) for at in ticks(10, 0.1)] + [text(2, "kubelet", 7, at) for at in ticks(10.1, 2)]
    assert [(stretch.process, stretch.pid) for stretch in held(parts)] == [("kubelet", 7)]
