"""A batch's script says exactly what was asked, to every shell."""

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.demo.wire import Way, end, frame, read_script
from bot.domain.batch import Batch, FrameDecoder, Sampling, launch_command
from bot.domain.batch_shell import NOTHING_ASKED, preamble
from bot.domain.command import Command, Completed, SampleTimes
from bot.domain.root_command import root_argv
from bot.probes import kernel_log
from bot.probes.formats.kernel_filter import FILTER
from tests.examples import up_to
from tests.known import known
from tests.waiting import until

NONCE = "0123456789abcdef01234567"
LOUD = "i=0; while [ $i -lt 900 ]; do echo 'an error that says the same again'; i=$((i+1)); done"
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
SHELLS = [
    [found, *more]
    for name, *more in (("dash",), ("bash", "--posix"), ("busybox", "sh"), ("mksh",), ("zsh", "--emulate", "sh"))
    if (found := shutil.which(name))
]

# --- what may be asked

word = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\n\0"), max_size=20)
tricky = st.sampled_from(
    ["it's", '"', "$(id)", "`id`", "${x}", "\\", "", "-n", "!!", "*", "~", "%s", "@NONCE@", "@MARK@", "{samples}", "\r",
     "q0 () {", "}", "run q0 1 1 x", "sleep 1 | {", "N=00", "||", "\u2028", "\x85", "\x1c", "é", "🐱", "#", "=", "a=b",
     "it's $W0 \"long\" " * 30]  # sent once, however many ways hold it
)  # fmt: skip
argv = st.lists(word | tricky, min_size=1, max_size=6).map(tuple)


def rooted(argv: tuple[str, ...], as_root: bool, where: str, **rest: Any) -> Command:
    """What runs as root names its program by its full path; an only way has no condition."""
    conditions = (where,) if where and (as_root or rest["alternatives"]) else ()
    return Command(argv=(f"/{argv[0]}", *argv[1:]) if as_root else argv, as_root=as_root, where=conditions, **rest)


command = st.builds(
    rooted,
    name=st.text("abc", min_size=1, max_size=3),
    argv=argv,
    alternatives=st.lists(argv, max_size=2).map(tuple),
    looks=st.sampled_from(SampleTimes),
    as_root=st.booleans(),
    lane=st.sampled_from(["cpu", "files", "systemd", "it's; a lane\n"]),
    limit=st.integers(1, 50).map(lambda tenths: timedelta(seconds=tenths / 10)),
    output_limit_bytes=st.integers(0, 10**7),
    apart=st.booleans(),
    where=st.sampled_from(["", "true", "[ -d '/a b' ] && ! true", '[ -n "$it\'s" ] # ' + "x" * 80]),
)
batch = st.builds(
    lambda commands, samples, together: Batch.of([("p", one) for one in commands], Sampling(samples), together),
    st.lists(command, max_size=8),
    st.integers(1, 60),
    st.booleans(),
)


def ways(asked: Batch) -> dict[str, list[tuple[str, ...]]]:
    """What must be run for every question, in this order."""
    expected = {}
    for question in asked.questions:
        one = question.command
        every = [one.argv, *one.alternatives]
        seconds = one.limit.total_seconds()
        if one.looks is SampleTimes.THROUGHOUT:
            seconds += asked.sampling.samples
            window = {"{samples}": str(asked.sampling.samples), "{rest}": f"{asked.sampling.rest_seconds:g}"}
            every = [tuple(_replaced(text, window) for text in words) for words in every]
        expected[question.number] = every + ([root_argv(every[0], seconds)] if one.as_root else [])
    return expected


def _replaced(text: str, by: dict[str, str]) -> str:
    for old, new in by.items():
        text = text.replace(old, new)
    return text


@unhurried
@given(batch)
def test_script_holds_every_question_once_with_its_words_as_they_were(asked: Batch) -> None:
    request = read_script(asked.script(NONCE))
    assert request.nonce == NONCE
    found: dict[str, list[tuple[str, ...]]] = {}
    for way in (way for part in (*request.first, *request.second) for way in part[1]):
        assert isinstance(way, Way)
        found.setdefault(way.number, []).append(way.argv)
        assert way.last == (len(found[way.number]) == len(ways(asked)[way.number]))
    assert found == ways(asked)
    if lanes := {question.command.lane for question in asked.questions if question.look}:
        sampling = asked.sampling
        due = sampling.rest_seconds - sampling.look_seconds * (len(lanes) - 1)
        assert request.rest_seconds == pytest.approx(due)


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: Path(shell[0]).name)
@settings(unhurried, max_examples=up_to(25))
@given(asked=batch)
def test_every_shell_takes_the_script_for_a_script(shell: list[str], asked: Batch) -> None:
    script = asked.script(NONCE).encode()
    checked = subprocess.run([*shell, "-n"], input=script, capture_output=True, timeout=30, check=False)
    assert (checked.returncode, checked.stderr) == (0, b"")


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: Path(shell[0]).name)
@settings(unhurried, max_examples=up_to(25))
@given(asked=batch)
def test_every_shell_hands_a_command_its_words_as_they_were(shell: list[str], asked: Batch) -> None:
    defined = asked.script(NONCE).removeprefix(preamble(NONCE, timedelta(seconds=asked.sampling.samples + 30)))
    stubs = (
        'show() { shift 3; printf \'%s\\0\' "$#" "$@"; }\nrun() { show "$@"; }\ntry() { show "$@"; return 1; }\n'
        'where() { shift; "$@"; }\nrun_alone() { run "$@"; }\ntry_alone() { try "$@"; }\nskip() { return 1; }\n'
        'run_apart() { run "$@"; }\ntry_apart() { try "$@"; }\n'
    )
    shown = "\n".join([defined.partition("\npause() {")[0].partition(NOTHING_ASKED)[0], *asked.parts])
    said = subprocess.run([*shell], input=(stubs + shown).encode(), capture_output=True, timeout=30, check=True)
    expected = [text for every in _in_order(asked) for words in every for text in (str(len(words)), *words)]
    assert said.stdout.decode().split("\0")[:-1] == expected


def _in_order(asked: Batch) -> list[list[tuple[str, ...]]]:
    return [ways(asked)[question.number] for questions in asked.parts.values() for question in questions]


def test_long_word_that_several_ways_share_is_sent_once() -> None:
    long = 'it\'s "long" ' * 50
    shared = Command("a", ("first", long), alternatives=(("second", "x", long),))
    asked = Batch.of([("p", shared), ("p", Command("b", ("third", "y" * 79)))], Sampling(5))
    script = asked.script(NONCE)
    assert script.count(shlex.quote(long)) == 1
    assert script.count('"$W0"') == 2
    assert "W1=" not in script, "what is short has no name"


@unhurried
@given(batch)
def test_launch_command_is_one_quoted_line_that_counts_bytes(asked: Batch) -> None:
    script = asked.script(NONCE)
    launched = launch_command(script)
    first, shell, flag, inner = shlex.split(launched)
    assert (first, shell, flag) == ("exec", "/bin/sh", "-c")
    assert f"head -c {len(script.encode())})" in inner
    assert "\n" not in launched
    assert "!" not in launched  # csh would take it for history


def test_last_way_has_no_condition() -> None:
    with pytest.raises(ValueError, match="its last way is always begun"):
        Command("x", ("echo",), where=("true",))


@pytest.mark.parametrize("text", ["a\nb", "a\0b", "\ud800"])
def test_command_that_no_shell_can_be_told_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="an argument holds"):
        Command("x", ("echo", text))
    with pytest.raises(ValueError, match="an argument holds"):
        Command("x", ("echo",), alternatives=(("echo", text),))


# --- the script itself, in a real shell


@contextmanager
def running(launched: list[str], script: str, session: bool = True) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Run a script until its input is closed; yields its input and its output."""
    with subprocess.Popen(
        launched, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=session
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(script.encode())
        process.stdin.flush()
        yield process.stdin, process.stdout
        process.stdin.close()
        process.wait(timeout=30)


def launched(script: str) -> list[str]:
    """Return how a node is told to run it."""
    return ["/bin/sh", "-c", launch_command(script)]


def run_script(script: str, shell: list[str]) -> bytes:
    told = f's=$(head -c {len(script.encode())}) && eval "$s"'
    with running([*shell, "-c", told], script) as (_, says):
        return says.read()


def before(asked: Batch, said: bytes) -> FrameDecoder:
    """Hold what it said to the answers of `before` alone."""
    unframer = FrameDecoder(asked, NONCE)
    runs = [run for line in said.split(b"\n") for run in unframer.feed(line.decode())]
    assert [run.stdout for run in runs] == ["before\n"]
    return unframer


def answers(asked: Batch, said: bytes) -> dict[tuple[str, int], Completed]:
    unframer = FrameDecoder(asked, NONCE)
    runs = [run for line in said.split(b"\n") for run in unframer.feed(line.decode("ascii", "replace"))]
    assert unframer.finished
    return {(run.name, run.look): run for run in runs}


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: Path(shell[0]).name)
def test_script_runs_alike_in_every_shell(shell: list[str]) -> None:
    asked = Batch.of(
        [
            ("p", Command("odd", ("printf", "%s|", "it's", "$(id)", "é", "", "\\"))),
            ("p", Command("twice", ("echo", "twice"), looks=SampleTimes.TWICE, lane="b")),
            (
                "p",
                Command("other", ("false",), alternatives=(("sh", "-c", "echo out; echo err >&2; exit 3"),), lane="b"),
            ),
            ("p", Command("stalls", ("sleep", "9"), limit=timedelta(seconds=0.3), lane="c")),
            ("p", Command("binary", ("printf", "\\000\\377\\n"), lane="c")),
            ("p", Command("flood", ("yes",), output_limit_bytes=1000, lane="c")),
            ("p", Command("leaves", ("sh", "-c", "sleep 9 & echo left"), lane="d")),
        ],
        Sampling(1),
    )
    runs = answers(asked, run_script(asked.script(NONCE), shell))
    assert len(runs) == len(asked.questions)
    assert runs["odd", 0].stdout == "it's|$(id)|é||\\|"
    assert [runs["twice", look].stdout for look in (0, 1)] == ["twice\n"] * 2
    assert (runs["other", 0].stdout, runs["other", 0].stderr, runs["other", 0].exit_status) == ("out\n", "err", 3)
    assert runs["stalls", 0].exit_status == 124
    assert runs["binary", 0].stdout == "\\x00\\xff\n"
    assert (len(runs["flood", 0].stdout), runs["flood", 0].cut) == (1000, True)
    assert runs["leaves", 0].stdout == "left\n"
    assert known(runs["leaves", 0].took) < timedelta(seconds=5)


@pytest.mark.parametrize("together", [True, False])
def test_error_whose_beginning_was_cut_off_does_not_begin_within_a_secret(together: bool) -> None:
    line = "connect --password Fake0hunter2fake -h db"
    for rest, left in ((r"\nthe host is gone\n" + "y" * 1961, "the host is gone\n"), (" y" * 990, "y y")):
        code = f"printf '%b' '{'x' * 500}\\n{line} {rest}\\n' >&2"
        asked = Batch.of([("p", Command("loud", ("sh", "-c", code), alone=True))], Sampling(1), together)
        said = answers(asked, run_script(asked.script(NONCE), SHELLS[0]))["loud", 0].stderr
        assert left in said
        assert "hunter2fake" not in said


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: Path(shell[0]).name)
def test_commands_that_share_a_shell_answer_as_if_each_had_its_own(shell: list[str], tmp_path: Path) -> None:
    """One that hangs, floods, or ends its shell takes none of the others with it."""
    once = tmp_path / "once"
    asked = Batch.of(
        [
            ("p", Command("odd", ("printf", "%s|", "it's", "$(id)", "é", "", "\\"))),
            ("p", Command("stalls", ("sleep", "60"), limit=timedelta(seconds=0.3))),
            ("p", Command("given", ("sh", "-c", 'echo "$1 $#"; exit 3', "sh", "a b"), looks=SampleTimes.TWICE)),
            ("p", Command("binary", ("printf", "\\000\\377\\n"))),
            ("p", Command("flood", ("yes",), output_limit_bytes=1000)),
            ("p", Command("ends", ("sh", "-c", f"[ -e {once} ] || {{ : >{once}; kill -KILL $$; }}; echo again"))),
            ("p", Command("other", ("false",), alternatives=(("sh", "-c", "echo out; echo err >&2; exit 3"),))),
            ("p", Command("first", ("sh", "-c", "echo it; exit 4"), alternatives=(("echo", "never"),))),
            ("p", Command("missing", ("no-such-program",))),
            ("p", Command("loud", ("sh", "-c", f"{LOUD} >&2"), alternatives=(("echo", "good"),))),
            ("p", Command("endless", ("sh", "-c", "yes error >&2"), limit=timedelta(seconds=90))),
            (
                "p",
                Command(
                    "apart", ("false",), alternatives=(("sh", "-c", "echo out; echo err >&2; exit 3"),), apart=True
                ),
            ),
            ("p", Command("apart stalls", ("sleep", "60"), limit=timedelta(seconds=0.3), apart=True)),
            ("p", Command("errs", ("sh", "-c", "echo first >&2"), alternatives=(("sh", "-c", "exit 5"),))),
            (
                "p",
                Command("where", ("echo", "here"), (("echo", "there"), ("echo", "else")), where=("false", "[ -d / ]")),
            ),
            ("p", Command("nowhere", ("echo", "never"), (("sh", "-c", "exit 6"),), where=("[ -d /no/such ]",))),
            ("p", Command("secret", ("sh", "-c", 'env; cat /proc/$$/cmdline; echo "[$W0]"'))),
            ("p", Command("last", ("echo", "last"))),
        ],
        Sampling(1),
        together=True,
    )
    began = time.monotonic()
    lifetime = timedelta(minutes=2)  # where a machine is starved, all of it takes longer than the 31 s of such a batch
    runs = answers(asked, run_script(asked.script(NONCE, lifetime), shell))
    assert len(runs) == len(asked.questions)
    assert runs["odd", 0].stdout == "it's|$(id)|é||\\|"
    assert runs["stalls", 0].failure == "the command stalled and was ended at its time limit"
    assert [(runs["given", look].stdout, runs["given", look].exit_status) for look in (0, 1)] == [("a b 1\n", 3)] * 2
    assert runs["binary", 0].stdout == "\\x00\\xff\n"
    assert (len(runs["flood", 0].stdout), runs["flood", 0].cut) == (1000, True)
    assert runs["ends", 0].failure is not None
    assert (runs["other", 0].stdout, runs["other", 0].stderr, runs["other", 0].exit_status) == ("out\n", "err", 3)
    assert (runs["first", 0].stdout, runs["first", 0].exit_status) == ("it\n", 4)
    assert runs["missing", 0].failure == "the command is missing"
    assert (runs["loud", 0].stdout, NONCE in runs["loud", 0].stderr) == ("good\n", False)
    assert runs["endless", 0].failure is not None
    assert time.monotonic() - began < 60, "errors without end are ended by what they take, not by the time limit"
    assert (runs["apart", 0].stdout, runs["apart", 0].stderr, runs["apart", 0].exit_status) == ("out\n", "err", 3)
    assert runs["apart stalls", 0].exit_status == 124
    assert (runs["errs", 0].stdout, runs["errs", 0].stderr, runs["errs", 0].exit_status) == ("", "first", 5)
    assert (runs["where", 0].stdout, runs["nowhere", 0].stdout, runs["nowhere", 0].exit_status) == ("there\n", "", 6)
    assert NONCE not in runs["secret", 0].stdout
    assert runs["last", 0].stdout == "last\n"


def test_commands_that_keep_to_their_limits_share_a_shell_whatever_they_print_together() -> None:
    prints = ("sh", "-c", "head -c 60000 /dev/zero | tr '\\0' x")
    each = [("p", Command(f"c{number}", prints, output_limit_bytes=60_100)) for number in range(8)]
    asked = Batch.of(each, Sampling(1), together=True)
    runs = answers(asked, run_script(asked.script(NONCE), ["/bin/sh"]))
    assert [(len(runs[name, 0].stdout), runs[name, 0].cut) for name in (f"c{at}" for at in range(8))] == [
        (60_000, False)
    ] * 8


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: Path(shell[0]).name)
def test_files_of_several_questions_are_read_at_once_and_answered_one_by_one(shell: list[str]) -> None:
    missing = "/proc/sys/no/such"
    paths = {
        "whole": ("/proc/sys/kernel/pid_max", "/proc/sys/kernel/ostype"),
        "part": (missing, "/proc/sys/kernel/ostype"),
        "none": (missing,),
        "cut": ("/proc/cpuinfo",),
        "twice": ("/proc/sys/kernel/ostype",),
    }
    asked = [
        (
            f"p-{name}",
            Command(name, ("tail", "-v", "-n", "+1", *files), output_limit_bytes=100 if name == "cut" else 500),
        )
        for name, files in paths.items()
    ]
    asked[-1] = ("p-twice", replace(asked[-1][1], looks=SampleTimes.TWICE))
    asked.insert(1, ("p", Command("other", ("tail", "-v", "-n", "+1", "/etc/os-release"))))
    each, at_once = (Batch.of(asked, Sampling(1), together) for together in (False, True))
    assert each.script(NONCE).count("_alone q") == 7
    assert at_once.script(NONCE).count("|| run q") == 3, "what somebody else may write is read alone"
    alone, runs = (answers(batch, run_script(batch.script(NONCE), shell)) for batch in (each, at_once))
    assert len(runs) == len(alone) == 7
    for key, run in runs.items():
        assert replace(run, started_at_uptime=None, took=None) == replace(alone[key], started_at_uptime=None, took=None)
        assert run.started_at_uptime is not None
        assert run.took is not None
    assert runs["twice", 1].started_at_uptime > runs["twice", 0].started_at_uptime  # type: ignore[operator]


def test_files_that_were_not_read_to_the_end_have_no_answer() -> None:
    def reads(name: str) -> tuple[str, Command]:
        return "p", Command(name, ("tail", "-v", "-n", "+1", f"/proc/{name}"))

    asked = Batch.of([reads("a"), reads("b"), reads("c")], Sampling(1), together=True)
    said = b"==> /proc/uptime <==\n5.00 1\n\n==> /proc/a <==\n1\n\n==> /proc/uptime <==\n5.25 1\n\n==> /proc/b <==\n2\n"
    runs = answers(asked, (frame("l0p0", NONCE, "q0", said, b"", "124", 5, 14) + end(NONCE)).encode())
    assert [(run.name, run.stdout, run.exit_status) for run in runs.values()] == [("a", "==> /proc/a <==\n1\n", 0)]
    assert runs["a", 0].took == timedelta(seconds=0.25)


def still_running(word: str) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "pid,stat,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if word in line and line.split()[1][0] != "Z"]


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: Path(shell[0]).name)
def test_nothing_of_commands_that_share_a_shell_is_left(shell: list[str]) -> None:
    """Neither of one that outlasts its limit, with all below it, nor of one that left what it began."""
    sleeps, sleeps_apart = f"sleep 7{os.getpid()}", f"sleep 8{os.getpid()}"
    asked = Batch.of(
        [
            ("p", Command("hangs", ("sh", "-c", f"sh -c '{sleeps}; :' | cat"), limit=timedelta(seconds=0.3))),
            ("p", Command("next", ("echo", "next"))),
            ("p", Command("leaves", ("sh", "-c", f"{sleeps} & echo left"), lane="b")),
            ("p", Command("lets go", ("sh", "-c", f"{sleeps} >/dev/null 2>&1 & echo gone"), lane="c")),
            ("p", Command("apart", ("sh", "-c", f"{sleeps_apart} & echo apart"), lane="d", apart=True)),
            ("p", Command("after", ("sh", "-c", f"ps -eo args | grep -c '^{sleeps_apart}'"), lane="d")),
        ],
        Sampling(1),
        together=True,
    )
    began = time.monotonic()
    runs = answers(asked, run_script(asked.script(NONCE), shell))
    assert time.monotonic() - began < 20
    assert runs["hangs", 0].exit_status == 124
    assert (runs["next", 0].stdout, runs["leaves", 0].stdout) == ("next\n", "left\n")
    assert runs["apart", 0].stdout == "apart\n"
    assert runs["after", 0].stdout == "0\n", "it was ended with its command, not with the batch"
    assert still_running(sleeps) == still_running(sleeps_apart) == []


@pytest.mark.slow
def test_kernel_log_is_read_though_its_levels_hang() -> None:
    (command,) = kernel_log.PROBE.commands
    hanging = kernel_log._filter_script(FILTER, "journal", "echo '[    1.0] node kernel: one line'", "sleep 30")
    asked = Batch.of([("p", replace(command, argv=hanging, alternatives=(), where=()))], Sampling(1), together=True)
    began = time.monotonic()
    runs = answers(asked, run_script(asked.script(NONCE), ["/bin/sh"]))
    assert runs["log", 0].failure is None
    assert "-- journal: 1 lines, 0 left out --" in runs["log", 0].stdout
    assert time.monotonic() - began < 7


@pytest.mark.parametrize("lacking", ["base64", "awk", "timeout", "head", "tail", "cat", "sleep"])
def test_node_that_lacks_a_tool_says_which(tmp_path: Path, lacking: str) -> None:
    for tool in ("base64", "awk", "timeout", "head", "tail", "cat", "sleep", "renice"):
        if tool != lacking:
            (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    asked = Batch.of([("p", Command("a", ("echo", "a")))], Sampling(1))
    script = asked.script(NONCE)
    path = next(line for line in script.split("\n") if line.startswith("PATH="))
    script = script.replace(path, f"PATH={tmp_path}; LC_ALL=C")
    assert run_script(script, ["/bin/sh"]).decode() == f"\n%z! {NONCE} missing {lacking}\n"


@pytest.mark.parametrize("lacking", ["renice", "ionice"])
def test_node_without_these_is_read_all_the_same(tmp_path: Path, lacking: str) -> None:
    for tool in ("base64", "awk", "timeout", "head", "tail", "cat", "sleep", "renice", "ionice", "uptime"):
        if tool != lacking and (found := shutil.which(tool)):
            (tmp_path / tool).symlink_to(found)
    asked = Batch.of([("p", Command("a", ("uptime",)))], Sampling(1))
    script = asked.script(NONCE)
    path = next(line for line in script.split("\n") if line.startswith("PATH="))
    runs = answers(asked, run_script(script.replace(path, f"PATH={tmp_path}"), ["/bin/sh"]))
    assert runs["a", 0].exit_status == 0


@pytest.mark.slow
@pytest.mark.parametrize("together", [False, True])
def test_script_ends_itself_when_its_life_is_over_and_sends_what_it_has(together: bool) -> None:
    asked = Batch.of(
        [
            ("p", Command("before", ("echo", "before"))),
            ("p", Command("stalls", ("sleep", "60"), limit=timedelta(minutes=1))),
        ],
        Sampling(1),
        together,
    )
    said = run_script(asked.script(NONCE, lifetime=timedelta(seconds=0.5)), ["/bin/sh"])
    assert not before(asked, said).finished


@contextmanager
def asked_when(ready: Callable[[], bool], script: str) -> Iterator[IO[bytes]]:
    """Run a script, and ask it for what it has as soon as it is ready; yields its output."""
    with running(launched(script), script) as (ask, says):
        until(ready)
        ask.write(b"\n")
        ask.flush()
        yield says


@pytest.mark.parametrize("together", [False, True])
def test_script_that_is_asked_for_what_it_has_sends_it_and_ends(tmp_path: Path, together: bool) -> None:
    """A bot that heard nothing for too long sends a line; the rest of a lane may hang for ever."""
    hangs = ("sh", "-c", f"echo >{(marker := tmp_path / 'marker')}; sleep 60")
    commands = Command("before", ("echo", "before")), Command("hangs", hangs, limit=timedelta(minutes=1))
    asked = Batch.of([("p", command) for command in commands], Sampling(1), together)
    # It has two seconds to send what it has: niced, it may not run in them beside other tests.
    script, began = asked.script(NONCE).replace("renice -n 19 ", "renice -n 0 "), time.monotonic()
    with asked_when(marker.exists, script) as says:
        said = says.read()
    before(asked, said)
    assert time.monotonic() - began < 30


def test_what_a_look_answered_is_sent_though_a_process_of_it_cannot_be_killed(tmp_path: Path) -> None:
    """As one in state D; here it left the session, which is all that is swept."""
    marker, much = tmp_path / "marker", ("sh", "-c", "i=0; while [ $i -lt 4000 ]; do i=$((i+1)); echo much; done")
    hangs = ("sh", "-c", f"setsid sleep 15 & echo >{marker}; sleep 60")
    first, long = Command("before", ("echo", "before")), timedelta(minutes=1)
    commands = first, Command("much", much), Command("hangs", hangs, limit=long)
    asked = Batch.of([("p", command) for command in commands], Sampling(1), together=True)
    script, unframer = asked.script(NONCE), FrameDecoder(asked, NONCE)
    began, runs = time.monotonic(), list[Completed]()
    with asked_when(marker.exists, script) as says:
        while not runs and (line := says.readline()):
            runs += unframer.feed(line.decode().rstrip("\n"))
        took = time.monotonic() - began
    assert runs[0].stdout == "before\n"
    assert took < 14


def test_lanes_are_told_apart_by_name_and_questions_keep_their_order() -> None:
    one = Command("a", ("x",), lane="b")
    asked = Batch.of([("p", one), ("q", replace(one, name="b", lane="a")), ("q", replace(one, name="c"))], Sampling(1))
    parts = {name: [q.command.name for q in questions] for name, questions in asked.parts.items()}
    assert parts == {"l0p0": ["b"], "l1p0": ["a", "c"]}
