"""The text of `perf script`, in every shape, becomes the same counts however it comes in."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.errors import ProfileError
from bot.extras.profiles.profile import Profile
from bot.extras.profiles.reader import Sample, TimesFallBack
from bot.extras.profiles.selection import Selection
from bot.extras.profiles.words import headline, rows, text
from tests.examples import up_to
from tests.known import known
from tests.unit.extras.profiles.collapsed import collapsed
from tests.unit.extras.profiles.making import event, profile, profile_of_file

CAPTURES = Path(__file__).parents[3] / "captures" / "profile"
SHAPES = (CAPTURES / "shapes.txt").read_text()


def folded(found: Profile) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in found.folded():
        stack, _, times = line.rpartition(" ")
        counts[stack] += int(times)
    return counts


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.txt")), ids=lambda path: path.stem)
def test_folded_is_what_stackcollapse_prints(path: Path) -> None:
    assert [*profile(path.read_bytes()).folded()] == path.with_suffix(".folded").read_text().splitlines()


@pytest.mark.parametrize("piece", [7, 0], ids=["7", "gzip"])
def test_pieces_and_packing_change_nothing(piece: int, tmp_path: Path) -> None:
    raw = SHAPES.encode()
    packed = gzip.compress(raw[:900]) + gzip.compress(raw[900:]) + b"\n"
    found = profile(raw, piece=piece) if piece else profile_of_file(tmp_path, packed)
    assert found.document() == profile(SHAPES).document()
    assert [*found.folded()] == [*profile(SHAPES).folded()]


def test_line_ends_of_windows_change_nothing() -> None:
    assert profile(SHAPES.replace("\n", "\r\n"), piece=5).document() == profile(SHAPES).document()


def test_document_counts_what_it_says() -> None:
    found = profile(SHAPES).document()
    assert (found["events"], found["samples"], found["skipped_events"], found["skipped_lines"]) == (10, 10, 1, 1)
    assert (found["event"], found["first"], found["seconds"], found["cut"]) == ("cycles", 4215.10002, 1.19998, False)
    assert {"core": 0, "samples": 1, "idle": 1} in found["cores"]
    assert {"core": 1, "samples": 1, "idle": 0} in found["cores"]  # swapper that serves the network is not idle
    counts = found["heatmap"]["counts"]
    assert [sum(rows) for rows in counts] == [6, 3]
    assert (counts[0][5], counts[1][5], counts[1][10], counts[1][15]) == (1, 1, 1, 1)


def test_hot_core_and_its_function_are_named() -> None:
    idle = "".join(event("native_safe_halt", at=100 + n / 100, comm="swapper", pid="0/0", core=3) for n in range(50))
    burnt = "".join(event("mem_cgroup_nr_lru_pages", "seq_read", at=100 + n / 100) for n in range(30))
    other = event("tcp_sendmsg", core=7, comm="python3", pid="9/9") * 10
    found = profile(idle + burnt + other).document()
    assert found["hot"] == {
        "core": 39,
        "process": "kubelet",
        "pid": 2317,
        "function": "mem_cgroup_nr_lru_pages",
        "share": 0.75,
    }
    assert [entry["samples"] for entry in found["top"]] == [30, 10]


def test_what_programs_call_their_functions_shows_no_secret() -> None:
    frames = ("https://ci:hunter2hunter2@git.example/app.js", "call:glpat-AbCdEfGhIjKlMnOpQrSt")
    found = profile("".join(event(*frames, at=100 + n / 100) for n in range(30)))
    (row,) = rows(found)
    assert known(found.meaning).under == ("call:[redacted: token]",)
    for said in (headline(found), str(row), text(found, "node-1"), json.dumps(found.document())):
        assert "https://ci:[redacted]@git.example" in said


def test_selection_narrows_all_but_the_count_of_events() -> None:
    text = "".join(event("f", at=100 + n, core=n % 2, comm=f"p{n % 3}") for n in range(12))
    by_core = profile(text, Selection(core=1)).document()
    assert (by_core["events"], by_core["samples"], [core["core"] for core in by_core["cores"]]) == (12, 6, [1])
    assert profile(text, Selection(process="p2")).busy_samples == 4
    between = profile(text, Selection(between=(2, 4)))
    assert (between.samples, between.first_ns) == (2, 100 * 10**9)
    assert [sum(rows) for rows in between.heatmap()][:5] == [0, 0, 1, 1, 0]


def test_times_that_fall_back_are_read_with_the_right_beginning() -> None:
    text = event("f", at=50.5) + event("f", at=50.0) + event("g", at=51.2)
    assert profile(text).first_ns == 50 * 10**9
    with pytest.raises(TimesFallBack) as back:
        profile(text, Selection(between=(0, 0.6)), piece=40)
    assert back.value.first_ns == 50 * 10**9
    assert profile(text, Selection(between=(0, 0.6)), origin_ns=back.value.first_ns).samples == 2


def test_without_cores_there_is_no_core_to_pick() -> None:
    found = profile(event("f", core=None)).document()
    assert (found["cores"], found["hot"]["core"]) == ([], None)
    with pytest.raises(ProfileError, match="does not say on which core"):
        profile(event("f", core=None), Selection(core=1))


def test_text_without_call_chains() -> None:
    lines = [
        "           false 39654 19115.489713:          1 cycles:  ffffffff9b201293 [unknown] ([unknown])",
        "           false 39654 19115.489719:          1 cycles:      7fa68b1f2d84 _dl_start+0x4 (/usr/lib/ld-2.31.so)",
        "      my process 39654 [002] 19116.489719:          1 cycles:      7fa68b1f2d84 main+0x4 (/usr/bin/x)",
    ]
    found = profile("\n".join(lines) + "\n")
    assert folded(found) == {"false;[unknown]": 1, "false;_dl_start": 1, "my_process;main": 1}
    assert (found.samples, found.seconds) == (3, 1.000006)


def test_text_without_times_still_folds() -> None:
    found = profile("java 12 cycles:\n\t12ab main+0x1 (/bin/x)\n\njava 12 cycles:\n\t12ab main+0x2 (/bin/x)\n\n")
    assert folded(found) == {"java;main": 2}
    assert (found.document()["first"], found.document()["heatmap"]["counts"]) == (None, [])


def test_lost_events_and_junk_between_events_are_no_events() -> None:
    lost = "swapper 0/0 [000] 100.000000: PERF_RECORD_LOST lost 12\n\n"
    found = profile(event("f") + lost + "Warning: something\n\n" + event("f"))
    assert (found.events, found.skipped_lines) == (2, 2)


@pytest.mark.parametrize("end", [1, 30, 60, 85])
def test_event_that_is_cut_is_left_out_and_said(end: int) -> None:
    found = profile(event("f", "g") + event("f", "g", "h")[:end])
    assert (found.events, found.is_cut) == (1, True)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "not a profile"),
        (b"PERFILE2\x68\0\0\0", "perf.data"),
        (bytes(range(256)) * 40, "binary"),
        (gzip.compress(SHAPES.encode(), mtime=0)[:-8] + bytes(8), "damaged"),
        (b"x" * 3_000_000, "not a profile"),
        (event("f").encode()[:60], "first event"),
        ((event("f", at=1) + event("f", at=999_999_999_999)).encode(), "86,400 seconds apart"),
    ],
)
def test_what_is_no_profile_is_refused_in_a_sentence(raw: bytes, says: str, tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=says):
        profile_of_file(tmp_path, raw)


def test_gzip_that_ends_early_gives_what_it_holds(tmp_path: Path) -> None:
    packed = gzip.compress("".join(event(f"f{n}") for n in range(5000)).encode())
    found = profile_of_file(tmp_path, packed[: len(packed) // 2])
    assert found.is_cut
    assert 0 < found.events < 5000


def test_line_without_end_is_skipped_and_what_follows_is_read() -> None:
    found = profile(event("f") + "x" * 5_000_000 + "\n\n" + event("g"), piece=1 << 16)
    assert folded(found) == {"kubelet;f": 1, "kubelet;g": 1}


def test_long_text_without_empty_lines_is_read_line_by_line() -> None:
    line = "        false 39654 [{core:03d}] {at:.6f}:      1 cycles:  ffffffff9b201293 f{core} ([kernel.kallsyms])\n"
    text = "".join(line.format(core=n % 4, at=100 + n / 10_000) for n in range(12_000))
    found = profile(text, piece=1 << 15)
    assert (found.samples, found.skipped_lines, len(found.cores)) == (12_000, 0, 4)


def test_every_selected_event_is_handed_over_in_order() -> None:
    seen: list[Sample] = []
    text = event("f", at=100.25, event="12 cycles") + event("g", at=99.5, core=1) + event("h", event="1 faults")
    profile(text, Selection(core=39), each=seen.append)
    assert [(sample.who.process, sample.stamp, sample.period, sample.at_ns) for sample in seen] == [
        ("kubelet", b"100.250000", 12, 100_250_000_000)
    ]


NAME = st.text(st.sampled_from("abz09 .:;/_-<>()[]'\"\\+x\t{}é\u202e\x1b"), min_size=1, max_size=14)
LINES = st.one_of(
    st.builds("\t{:x} {}+0x{:x} ({})".format, st.integers(0, 2**48), NAME, st.integers(0, 99), NAME),
    st.builds("\t{:x} {} ({})".format, st.integers(0, 2**48), NAME, st.sampled_from(["[unknown]", "/a/b.so", "x y"])),
    st.builds("   {}".format, NAME),
)
COMM = st.sampled_from(["java", "java app", "swapper", "V8 Worker 2", "ab", "ray::IDLE", "<b>", "a;b", "x 1 y"])
EVENTS = st.builds(
    lambda comm, pid, core, at, period, kind, lines: (
        f"{comm} {pid}{core} {at / 1000:.6f}: {period}{kind}:\n" + "".join(line + "\n" for line in lines) + "\n"
    ),
    COMM,
    st.sampled_from(["12", "12/13", "  99999"]),
    st.sampled_from(["", " [003]", " [191]"]),
    st.integers(0, 80_000_000),
    st.sampled_from(["", "  1 ", " 0 ", "250000 "]),
    st.sampled_from(["cycles", "cycles", "cpu-clock:pppH", "page-faults"]),
    st.lists(LINES, max_size=6),
)


@given(st.lists(EVENTS, min_size=1, max_size=8), st.integers(1, 400))
@settings(deadline=None, max_examples=up_to(300))
def test_any_text_folds_as_stackcollapse_folds_it(events: list[str], piece: int) -> None:
    text = "".join(events)
    expected: Counter[str] = Counter()
    for stack, times in collapsed(text.encode().decode("latin-1")).items():
        expected[shown(stack.encode("latin-1"))] += times
    found = profile(text, piece=piece)
    assert folded(found) == expected
    assert found.events + found.skipped_events == len(events)


def shown(raw: bytes) -> str:
    from bot.domain.safe_text import decode

    return decode(raw)


@given(st.binary(max_size=400), st.integers(0, 2000))
@settings(deadline=None, max_examples=up_to(200))
def test_damage_never_breaks_the_reader(damage: bytes, at: int) -> None:
    raw = SHAPES.encode()
    try:
        found = profile(raw[:at] + damage + raw[at:], piece=333)
    except ProfileError:
        return
    said = json.dumps(found.document(), ensure_ascii=False) + "".join(found.folded())
    assert not any(mark in said for mark in "\x1b\x9b\x07\r\u202e")


def test_whoever_records_is_left_out_and_burns_nothing() -> None:
    text = event("f", core=1) + 3 * event("kallsyms__parse", comm="perf", core=0)
    assert profile(text).document()["hot"]["process"] == "perf"
    found = profile(text, Selection(without="perf")).document()
    assert (found["events"], found["samples"], found["hot"]["process"], found["hot"]["core"]) == (4, 1, "kubelet", 1)


@pytest.mark.parametrize("pid", ["768/-1", "-1/-1", "-1"])
def test_process_that_has_ended_by_the_time_of_its_sample_is_read(pid: str) -> None:
    # As perf 6.1 on Linux 6.18 printed it, in a recording of our own.
    text = (
        f":-1   {pid}    [001]  1532.096276:   10309278 cpu-clock:ppp: \n"
        "\tffffffff81388889 put_pid ([kernel.kallsyms])\n"
        "\tffffffff8135e563 release_task ([kernel.kallsyms])\n\n"
    )
    found = profile(text + event("spin", at=1532.2, event="10309278 cpu-clock:ppp"))
    assert (found.samples, found.skipped_lines) == (2, 0)
    assert ":-1" in {row["process"] for row in found.document()["top"]}
