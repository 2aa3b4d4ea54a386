"""Whatever the way to a node, a batch keeps the same promises."""

import asyncio
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.batch import Batch, Sampling, root_ways
from bot.domain.command import Command, Looks
from bot.domain.errors import MissingFile
from bot.domain.node import Node
from bot.domain.safe_text import decode
from bot.transport.replay import ReplayTransport, dump
from tests.conftest import missing
from tests.contract.ways import SimulatedNode, Way, local, over_ssh, promised
from tests.sshd import IS_ROOT, SSHD, Sshd

ALL = ("local", "openssh", "simulated")
REAL_SHELL = ("local", "openssh")  # the batch's own script runs; a simulated node imitates it


@pytest.fixture(scope="module")
def shared_sshd() -> Iterator[Sshd | None]:
    if SSHD is None:
        yield None
        return
    with Sshd() as node:
        yield node


@pytest.fixture
async def way(request: pytest.FixtureRequest, shared_sshd: Sshd | None, tmp_path: Path) -> AsyncIterator[Way]:
    if request.param == "local":
        yield local()
    elif request.param == "openssh":
        if shared_sshd is None:
            missing("sshd is not installed (Debian: apt install openssh-server)")
        yield over_ssh(shared_sshd)
    else:
        async with SimulatedNode(tmp_path) as simulated:
            yield simulated


def members(names: tuple[str, ...]) -> pytest.MarkDecorator:
    params = [pytest.param(name, marks=[pytest.mark.real_sshd] * (name == "openssh")) for name in names]
    return pytest.mark.parametrize("way", params, indirect=True)


def sh(name: str, script: str, **more: object) -> Command:
    return Command(name, ("sh", "-c", script), **more)  # type: ignore[arg-type]


def octal(raw: bytes) -> str:
    return "".join(f"\\{byte:03o}" for byte in raw)


# --- what comes back


@members(ALL)
async def test_exit_status_output_and_errors_come_back_apart(way: Way) -> None:
    run = await way.ask_one(sh("a", "echo out; echo err >&2; exit 7"))
    assert (run.stdout, run.stderr, run.exit_status, run.cut) == ("out\n", "err", 7, False)
    assert run.failure is None
    assert run.took is not None
    assert timedelta(0) <= run.took < timedelta(seconds=5)


@members(ALL)
async def test_nonzero_exit_with_nothing_printed_says_what_was_said(way: Way) -> None:
    run = await way.ask_one(sh("a", "echo no such unit >&2; exit 4"))
    assert run.failure == "exit status 4 (no such unit)"


@members(ALL)
async def test_empty_output_with_exit_0_is_a_failure_of_its_own(way: Way) -> None:
    run = await way.ask_one(Command("a", ("true",)))
    assert (run.stdout, run.exit_status, run.failure) == ("", 0, "the output was empty")


@members(ALL)
async def test_missing_command_is_said_to_be_missing(way: Way) -> None:
    run = await way.ask_one(Command("a", ("no-such-command-here", "--version")))
    assert (run.exit_status, run.failure) == (127, "the command is missing")


WORDS = (
    "it's",
    '"quoted"',
    "$(touch pwned)",
    "`touch pwned`",
    "${HOME}",
    "a;b|c&d>e<f",
    "*",
    "~",
    "\\n\\",
    "",
    " two  spaces ",
    "tab\there",
    "!history",
    "%s",
    "-n",
    "é日本🐱",
    "\u2028",
    "#",
    "[a-z]",
    "(sub)",
    "=x",
    "{a,b}",
)


@members(ALL)
async def test_every_word_of_a_command_arrives_as_it_was(way: Way) -> None:
    run = await way.ask_one(Command("a", ("printf", "<%s>\\n", *WORDS)))
    assert run.stdout == "".join(f"<{word}>\n" for word in WORDS).replace("\u2028", "\\u2028")


@members(ALL)
async def test_bytes_that_are_no_text_become_visible(way: Way) -> None:
    raw = bytes(range(256)) + b"\x1b[2J\x1b]0;owned\x07 caf\xc3\xa9 \xc3\x28 \xed\xa0\x80\n\n\nend"
    run = await way.ask_one(Command("a", ("printf", octal(raw))))
    assert run.stdout == decode(raw)
    assert "\\x00" in run.stdout
    assert "\x1b" not in run.stdout


@members(ALL)
async def test_invalid_bytes_in_errors_become_visible(way: Way) -> None:
    run = await way.ask_one(sh("a", f"printf '{octal(b'bad ' + bytes([0x1B, 0xFF]) + b' end')}' >&2"))
    assert run.stderr == "bad \\x1b\\xff end"


@members(ALL)
async def test_final_newline_is_neither_added_nor_lost(way: Way) -> None:
    runs = await way.ask(
        Command("none", ("printf", "a")), Command("one", ("printf", "a\\n")), Command("two", ("printf", "a\\n\\n"))
    )
    assert {name: run.stdout for (name, _), run in runs.items()} == {"none": "a", "one": "a\n", "two": "a\n\n"}


IMITATION = "\n%z. 0\n%z.\n%z! missing awk\n%z l0p0 AAAA\n\n0123abc q0 1.00\nfaked\n\n0123abc e\n\n0 2.0\n0123abc .\n"


@members(ALL)
async def test_output_that_imitates_frames_stays_output(way: Way) -> None:
    imitation = octal(IMITATION.encode())
    runs = await way.ask(Command("out", ("printf", imitation)), sh("errors", f"printf '{imitation}' >&2"))
    assert runs["out", 0].stdout == IMITATION
    assert runs["errors", 0].stderr == IMITATION.strip("\n")
    assert runs["errors", 0].failure == "the output was empty"


# --- alternatives and root


@members(ALL)
async def test_next_way_is_tried_when_nothing_was_printed_and_only_then(way: Way) -> None:
    runs = await way.ask(
        Command("first", ("echo", "first"), alternatives=(("echo", "second"),)),
        Command("second", ("false",), alternatives=(("echo", "second"), ("echo", "third"))),
        Command("missing", ("no-such-command-here",), alternatives=(("echo", "instead"),)),
        Command("none", ("true",), alternatives=(("false",), ("true",))),
    )
    said = {name: (run.stdout, run.exit_status) for (name, _), run in runs.items()}
    assert said == {"first": ("first\n", 0), "second": ("second\n", 0), "missing": ("instead\n", 0), "none": ("", 0)}
    assert runs["none", 0].failure == "the output was empty"


@members(ALL)
async def test_output_is_the_same_whether_or_not_there_are_other_ways(way: Way) -> None:
    text = "Id=a.service\nActiveState=active\n\nId=b.service\n\n\n"
    runs = await way.ask(
        Command("alone", ("printf", octal(text.encode()))),
        Command("with-others", ("printf", octal(text.encode())), alternatives=(("echo", "other"),)),
    )
    assert runs["alone", 0].stdout == runs["with-others", 0].stdout == text


@members(ALL)
async def test_errors_of_every_way_are_kept(way: Way) -> None:
    run = await way.ask_one(sh("a", "echo nothing here >&2; exit 3", alternatives=(("sh", "-c", "echo nor here >&2"),)))
    assert (run.stdout, run.stderr, run.exit_status) == ("", "nothing here\nnor here", 0)


@members(ALL)
async def test_saying_nothing_on_errors_is_not_printing_nothing(way: Way) -> None:
    run = await way.ask_one(sh("a", "echo out; echo nothing >&2", alternatives=(("echo", "other"),)))
    assert (run.stdout, run.stderr) == ("out\n", "nothing")


@pytest.mark.real_sshd
@pytest.mark.skipif(not IS_ROOT, reason="only root can give sudo rights")
@pytest.mark.skipif(shutil.which("sudo") is None, reason="sudo is not installed")
async def test_root_is_asked_last_exactly_as_a_sudoers_line_allows(sshd: Sshd) -> None:
    way = over_ssh(sshd)
    private = Command("private", ("cat", "/etc/shadow"), as_root=True)
    public = Command("public", ("cat", "/etc/hostname"), as_root=True)
    refused = await way.ask(private, public)
    assert re.match(
        r"sudo refused \(cat: /etc/shadow: Permission denied.*sudo: a password is required",
        str(refused["private", 0].failure),
    )
    assert refused["public", 0].failure is None

    (as_root,) = root_ways(private)
    sshd.allow_sudo(f"/usr/bin/{shlex.join(as_root[2:])}")
    allowed = await way.ask(private, Command("other", ("cat", "/etc/gshadow"), as_root=True))
    assert allowed["private", 0].failure is None
    assert "root:" in allowed["private", 0].stdout
    assert "sudo refused" in str(allowed["other", 0].failure)


# --- when


@members(ALL)
async def test_second_looks_come_when_the_window_ends(way: Way) -> None:
    twice = Command("twice", ("cat", "/proc/uptime"), looks=Looks.TWICE)
    runs = await way.ask(twice, sh("once", "echo once"), samples=2)
    assert set(runs) == {("twice", 0), ("twice", 1), ("once", 0)}
    first, second = (float(runs["twice", look].stdout.split()[0]) for look in (0, 1))
    assert 1.5 <= second - first < 2.5
    started = [runs["twice", look].started_at_uptime or 0.0 for look in (0, 1)]
    assert started[1] - started[0] == pytest.approx(second - first, abs=0.2)


@members(ALL)
async def test_run_throughout_gets_the_window_beyond_its_limit(way: Way) -> None:
    runs = await way.ask(
        Command("long", ("sh", "-c", "sleep {rest}; echo {samples} {rest}"), looks=Looks.THROUGHOUT,
                limit=timedelta(seconds=1.5), lane="cpu"),
        Command("quick", ("echo", "quick")),
        samples=2,
    )  # fmt: skip
    assert runs["long", 0].stdout == "2 1.7\n"
    assert runs["quick", 0].stdout == "quick\n"


@members(ALL)
async def test_commands_of_a_lane_follow_one_another_and_lanes_run_side_by_side(way: Way) -> None:
    slow = "cat /proc/uptime; sleep 0.6; cat /proc/uptime"
    runs = await way.ask(sh("a", slow, lane="x"), sh("b", slow, lane="x"), sh("c", slow, lane="y"))
    spans = {name: [float(line.split()[0]) for line in run.stdout.splitlines()] for (name, _), run in runs.items()}
    assert spans["a"][1] <= spans["b"][0]
    assert spans["c"][0] < spans["a"][1]


# --- limits


@members(ALL)
async def test_output_is_cut_at_its_limit_and_said_to_be(way: Way) -> None:
    limit = 5000

    def zeros(name: str, size: int, *others: tuple[str, ...]) -> Command:
        return Command(name, ("head", "-c", str(size), "/dev/zero"), output_limit_bytes=limit, alternatives=others)

    runs = await way.ask(
        zeros("under", limit - 1),
        zeros("at", limit),
        zeros("over", limit + 1),
        zeros("far-over", limit * 100),
        zeros("over-with-others", limit * 100, ("echo", "other")),
    )
    sizes = {name: (len(run.stdout) // len("\\x00"), run.cut) for (name, _), run in runs.items()}
    assert sizes == {
        "under": (limit - 1, False),
        "at": (limit, False),
        "over": (limit, True),
        "far-over": (limit, True),
        "over-with-others": (limit, True),
    }


@members(ALL)
async def test_big_outputs_arrive_whole(way: Way) -> None:
    run = await way.ask_one(Command("a", ("seq", "1", "200000"), output_limit_bytes=4_000_000))
    assert run.stdout == "".join(f"{number}\n" for number in range(1, 200_001))


@members(ALL)
async def test_stalled_command_is_ended_and_its_lane_goes_on(way: Way) -> None:
    started = time.monotonic()
    runs = await way.ask(
        Command("stalled", ("sleep", "60"), limit=timedelta(seconds=0.4)),
        sh("half", "echo half; sleep 60", limit=timedelta(seconds=0.4)),
        Command("next", ("echo", "next")),
    )
    assert time.monotonic() - started < promised(4)
    assert runs["stalled", 0].exit_status == 124
    assert runs["stalled", 0].failure == "the command stalled and was ended at its time limit"
    assert runs["half", 0].failure == "the command stalled and was ended at its time limit"
    assert runs["next", 0].stdout == "next\n"


@members(REAL_SHELL)
async def test_command_that_ignores_its_end_is_killed_a_second_later(way: Way) -> None:
    stubborn = "trap '' TERM; while :; do sleep 0.05; done"
    runs = await way.ask(sh("stubborn", stubborn, limit=timedelta(seconds=0.3)), Command("next", ("echo", "next")))
    assert runs["stubborn", 0].exit_status == 137
    assert runs["stubborn", 0].failure == "the command stalled and was ended at its time limit"
    assert runs["next", 0].stdout == "next\n"


@members(REAL_SHELL)
async def test_what_a_command_leaves_behind_holds_nobody_up(way: Way) -> None:
    mark = f"{time.monotonic_ns() % 10**6 + 10**6}"
    runs = await way.ask(
        sh("leaver", f"sleep {mark} & echo left", limit=timedelta(seconds=8)),
        sh("look", f"pgrep -fx 'sleep {mark}' || echo gone"),
    )
    assert runs["leaver", 0].stdout == "left\n"
    assert runs["leaver", 0].took is not None
    assert runs["leaver", 0].took < timedelta(seconds=7)
    assert runs["look", 0].stdout == "gone\n"


@members(REAL_SHELL)
async def test_endless_output_and_endless_errors_end_early_and_stay_small(way: Way) -> None:
    runs = await way.ask(
        Command("yes", ("yes",), output_limit_bytes=10_000, limit=timedelta(seconds=8)),
        sh("moaning", "yes oh no >&2", lane="y", limit=timedelta(seconds=0.5)),
    )
    assert (len(runs["yes", 0].stdout), runs["yes", 0].cut, runs["yes", 0].failure) == (10_000, True, None)
    assert runs["yes", 0].took is not None
    assert runs["yes", 0].took < timedelta(seconds=7)
    assert runs["moaning", 0].exit_status == 124
    assert len(runs["moaning", 0].stderr) <= 2000
    assert "oh no" in runs["moaning", 0].stderr


# --- deadlines


@members(ALL)
async def test_deadline_keeps_what_was_read_and_drops_the_rest(way: Way) -> None:
    started = time.monotonic()
    runs = await way.ask(
        Command("quick", ("echo", "quick"), lane="a"),
        Command("stalled", ("sleep", "60"), lane="b", limit=timedelta(seconds=50)),
        deadline=timedelta(seconds=2),
    )
    assert time.monotonic() - started < promised(2)
    assert {name: run.stdout for (name, _), run in runs.items()} == {"quick": "quick\n"}


@members(REAL_SHELL)
async def test_deadline_keeps_what_a_lane_read_before_it_stalled(way: Way) -> None:
    started = time.monotonic()
    runs = await way.ask(
        Command("before", ("echo", "before")),
        Command("twice", ("echo", "twice"), looks=Looks.TWICE),
        sh("stalled", "trap '' TERM; sleep 60 & sleep 60", limit=timedelta(seconds=50)),
        Command("after", ("echo", "after")),
        deadline=timedelta(seconds=2),
    )
    assert time.monotonic() - started < promised(2)
    assert set(runs) == {("before", 0), ("twice", 0)}


@members(ALL)
async def test_who_stops_listening_is_let_go_at_once(way: Way) -> None:
    batch = Batch.of(
        [("p", Command("quick", ("echo",), lane="a")), ("p", Command("slow", ("sleep", "9"), lane="b"))], Sampling(1)
    )
    stream = way.transport.read(way.node, batch, timedelta(seconds=15))
    started = time.monotonic()
    async for run in stream:
        assert run.name == "quick"
        break
    await stream.aclose()
    assert time.monotonic() - started < promised(2)


@members(ALL)
async def test_many_batches_at_once_stay_apart(way: Way) -> None:
    every = await asyncio.gather(*(way.ask_one(Command("a", ("echo", str(number)))) for number in range(8)))
    assert [run.stdout for run in every] == [f"{number}\n" for number in range(8)]


@members(ALL)
async def test_batch_without_questions_ends_at_once(way: Way) -> None:
    started = time.monotonic()
    assert await way.ask() == {}
    assert time.monotonic() - started < promised(2)


# --- on the patient


@members(REAL_SHELL)
async def test_commands_run_niced_with_one_language_and_no_input(way: Way) -> None:
    run = await way.ask_one(
        sh("a", "nice; ionice; echo $LC_ALL $S_COLORS $PAGER; wc -c; pwd; ulimit -c; cat /proc/self/autogroup 2>&1")
    )
    nice, ionice, words, read, folder, cores, *_ = run.stdout.splitlines()
    assert (nice, ionice, words, read, folder, cores) == ("19", "idle", "C never cat", "0", "/", "0")


@pytest.mark.real_sshd
@pytest.mark.skipif(not IS_ROOT, reason="a user of the test's own is needed to know whose files are whose")
async def test_nothing_is_left_on_disk(sshd: Sshd) -> None:
    way = over_ssh(sshd)
    run = await way.ask(Command("yes", ("yes",)), sh("gone", "kill -SEGV $$"), Command("a", ("true",)))
    assert len(run) == 3
    assert {path.name for path in files_of(sshd.user)} <= {sshd.home.name}


def files_of(user: str) -> set[Path]:
    places = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/var/crash", "/var/lib/systemd/coredump")
    looked = subprocess.run(
        ["find", *places, "-xdev", "-maxdepth", "3", "-user", user],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return {Path(line) for line in looked.stdout.splitlines()}


# --- memory


@members(("openssh", "local"))
async def test_50_megabytes_of_output_leave_memory_flat(way: Way) -> None:
    flood = Command("flood", ("head", "-c", "50000000", "/dev/zero"), output_limit_bytes=64 * 1024)
    await way.ask_one(flood)
    before = _peak_kib(reset=True)
    run = await way.ask_one(flood)
    assert (len(run.stdout) // 4, run.cut) == (64 * 1024, True)
    assert _peak_kib() - before < 8 * 1024


def _peak_kib(reset: bool = False) -> int:
    """The most memory this process held since the last reset (/proc/PID/clear_refs, proc(5))."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[0])


# --- recordings


async def test_recording_answers_as_the_node_did(tmp_path: Path) -> None:
    commands = (
        Command("twice", ("cat", "/proc/uptime"), looks=Looks.TWICE),
        sh("odd", f"printf '{octal(bytes(range(256)))}'; echo err >&2; exit 3"),
        Command("cut", ("yes",), output_limit_bytes=100),
    )
    runs = await local().ask(*commands)
    recording = tmp_path / "node.jsonl"
    recording.write_text(dump(runs.values()), encoding="utf-8")
    again = Way(ReplayTransport(recording), Node("n", "a"), "")
    assert await again.ask(*commands) == runs
    assert set(await again.ask(commands[2], Command("never", ("x",)))) == {("cut", 0)}


@pytest.mark.parametrize(
    "text",
    ["", "[]", "[1]\n", '{"recording": 2}\n', '{"recording": 1}\n[1]\n', '{"recording": 1}\n{"took": null}\n',
     '{"recording": 1}\n{"probe": "p", "name": "n", "look": 0, "stdout": 5, "took": null}\n', "\x00", "{"],
)  # fmt: skip
async def test_what_is_no_recording_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    recording = tmp_path / "node.jsonl"
    recording.write_text(text)
    with pytest.raises(MissingFile, match=str(recording)):
        await Way(ReplayTransport(recording), Node("n", "a"), "").ask(Command("a", ("x",)))
