"""A batch: all commands of a diagnosis as one POSIX-sh script, and the frames that carry its outputs back.

The commands of a lane run in turn; when lanes run is in `batch_lanes.py`. A lane has two byte streams, for its first
and its second looks; second looks of several lanes may share one. Frame heads carry a secret nonce, so that no output
can fake a frame. A stream is sent as lines of base64 once its looks have ended.
"""

from __future__ import annotations

import base64
import binascii
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property

from bot.domain.batch_lanes import Lane, lanes_script
from bot.domain.batch_shell import (
    LANE_MARK,
    NOTHING_ASKED,
    STDERR_LIMIT_BYTES,
    preamble,
    quoted,
    variable_names,
)
from bot.domain.command import Command, Completed, SampleTimes, is_uptime
from bot.domain.defaults import SAMPLES
from bot.domain.errors import ConnectionLost
from bot.domain.root_command import root_argv
from bot.domain.safe_text import decode, one_line, without_cut_secret

# Second looks run in the last part of the window, so that they end with it and not after it.
SECOND_LOOK_BEFORE_END = 0.3

# A node that says nothing for so long, while it may be at work, is given up; no command runs longer by itself.
SILENCE = timedelta(seconds=10)
SILENCE_BEYOND_COMMAND = timedelta(seconds=2)

# What frames a run, apart from its output and its errors.
FRAME_BYTES = 4096

# A script's default lifetime: the window, plus more time than a lane's commands should ever need.
LIFETIME_BEYOND_WINDOW = timedelta(seconds=30)


# Several commands that print files of the kernel's own are one, which reads the time before each of them and at last.
_FILES = ("tail", "-v", "-n", "+1")
_UPTIME = "/proc/uptime"
_BETWEEN = re.compile(rb"\n==> /proc/uptime <==\n([0-9.]+) [0-9.]+\n")


@dataclass(frozen=True, slots=True)
class Sampling:
    """How long the node is watched: a window of whole seconds."""

    samples: int = SAMPLES

    @property
    def window(self) -> timedelta:
        """The window's length."""
        return timedelta(seconds=self.samples)

    @property
    def rest_seconds(self) -> float:
        """Seconds from the start of the window to the second looks."""
        return max(0.5, self.samples - SECOND_LOOK_BEFORE_END)

    @property
    def turn_seconds(self) -> float:
        """Seconds that a lane waits at most for the end of the one before it, which may hang."""
        return min(1.0, self.samples / 5)

    @property
    def look_seconds(self) -> float:
        """Seconds that a second look is thought to take."""
        return min(0.1, self.samples / 50)


@dataclass(frozen=True, slots=True)
class BatchQuestion:
    """A run of a command inside a batch; `number` is its name on the wire."""

    number: str
    probe: str
    command: Command
    look: int

    parts: tuple[BatchQuestion, ...] = ()  # the questions that it asks at once

    @property
    def reads_files(self) -> bool:
        """Whether it only prints files in which nobody but the kernel writes."""
        command, paths = self.command, self.command.argv[len(_FILES) :]
        of_kernel = all(path.startswith(("/proc/", "/sys/")) and path != _UPTIME for path in paths)
        own = command.alternatives or command.as_root or command.stdin or command.alone or command.apart
        return command.argv[: len(_FILES)] == _FILES and of_kernel and not own


@dataclass(frozen=True)
class Batch:
    """All questions of a diagnosis, and how long the node is watched meanwhile; the same for many nodes.

    `together`: the commands of a look share a shell, which costs the node far fewer processes; that is for commands
    that leave none behind.
    """

    questions: tuple[BatchQuestion, ...]
    sampling: Sampling
    together: bool = False

    @classmethod
    def of(cls, commands: Sequence[tuple[str, Command]], sampling: Sampling, together: bool = False) -> Batch:
        """Number the looks of every `(probe, command)`."""
        questions: list[BatchQuestion] = []
        for probe, command in commands:
            looks = (0, 1) if command.looks is SampleTimes.TWICE else (0,)
            for look in looks:
                questions.append(BatchQuestion(f"q{len(questions)}", probe, command, look))
        return cls(tuple(questions), sampling, together)

    @cached_property
    def output_limit_bytes(self) -> int:
        """How much all commands together may print."""
        return sum(question.command.output_limit_bytes for question in self.questions)

    @cached_property
    def silence(self) -> timedelta:
        """For how long the node may say nothing: a command that hangs is silent until its limit."""
        waited = [q.command for q in self.questions if q.command.looks is not SampleTimes.THROUGHOUT]
        longest = max((limit for command in waited for _, limit in self.ways(command)), default=0.0)
        return max(SILENCE, timedelta(seconds=longest) + SILENCE_BEYOND_COMMAND)

    @cached_property
    def parts(self) -> Mapping[str, tuple[BatchQuestion, ...]]:
        """The questions by stream: `l2p1` holds the second looks of lane 2."""
        lanes = sorted({question.command.lane for question in self.questions})
        every = {
            f"l{index}p{look}": tuple(q for q in self.questions if q.command.lane == lane and q.look == look)
            for index, lane in enumerate(lanes)
            for look in (0, 1)
        }
        return {name: questions for name, questions in every.items() if questions}

    @cached_property
    def joined_parts(self) -> Mapping[str, tuple[BatchQuestion, ...]]:
        """What each part runs: together, the questions that read files are one."""
        return {name: self._file_reads_joined(questions) for name, questions in self.parts.items()}

    @cached_property
    def by_number(self) -> Mapping[str, BatchQuestion]:
        """What is asked, by its name on the wire."""
        return {question.number: question for questions in self.joined_parts.values() for question in questions}

    def _file_reads_joined(self, questions: tuple[BatchQuestion, ...]) -> tuple[BatchQuestion, ...]:
        files = tuple(question for question in questions if self.together and question.reads_files)
        if len(files) < 2:
            return questions
        paths = [path for each in files for path in (_UPTIME, *each.command.argv[len(_FILES) :])]
        size = sum(each.command.output_limit_bytes + len(_UPTIME) + 64 for each in files)
        longest = max(each.command.limit for each in files)
        command = replace(files[0].command, argv=(*_FILES, *paths, _UPTIME), limit=longest, output_limit_bytes=size)
        at_once = replace(files[0], command=command, parts=files)
        return tuple(at_once if each is files[0] else each for each in questions if each not in files[1:])

    def script(self, nonce: str, lifetime: timedelta | None = None) -> str:
        """Return the whole batch as one POSIX-sh script; everything that comes from outside is quoted.

        After `lifetime` the script sends what it has and ends, whatever still runs.
        """
        lives = self.sampling.window + LIFETIME_BEYOND_WINDOW if lifetime is None else lifetime
        return preamble(nonce, lives) + self._script_body

    @cached_property
    def _script_body(self) -> str:
        """The script after the preamble; it is the same for every node."""
        parts = self.parts
        commands = [question.command for question in self.questions]
        named = variable_names(
            [*(argv for each in commands for argv, _ in self.ways(each)), *(c.where for c in commands)]
        )
        words = [f"{name}={shlex.quote(word)}" for word, name in named.items()]
        functions = [self._function(name, questions, named) for name, questions in self.joined_parts.items()]
        lanes = [
            Lane(first[:-2], watches=self._reads_throughout(first), looks_twice=f"{first[:-1]}1" in parts)
            for first in sorted((name for name in parts if name.endswith("p0")), key=self._first_question_at)
        ]
        times = self.sampling.rest_seconds, self.sampling.turn_seconds, self.sampling.look_seconds
        return "\n".join(["", *words, *functions, lanes_script(lanes, *times) if lanes else NOTHING_ASKED])

    def _reads_throughout(self, part: str) -> bool:
        return any(question.command.looks is SampleTimes.THROUGHOUT for question in self.parts[part])

    def _first_question_at(self, part: str) -> int:
        """Lanes begin in the order of their first questions: what is asked first is read first, also on a slow node."""
        return self.questions.index(self.parts[part][0])

    def ways(self, command: Command) -> tuple[tuple[tuple[str, ...], float], ...]:
        """Return the argument lists that are tried in order, each with its limit in seconds."""
        watched = self.sampling.samples if command.looks is SampleTimes.THROUGHOUT else 0
        seconds = command.limit.total_seconds() + watched
        ways = [(self._with_sample_counts(command, argv), seconds) for argv in (command.argv, *command.alternatives)]
        if command.as_root:
            # timeout inside sudo: outside it would end sudo and leave root's child running.
            ways.append((root_argv(ways[0][0], seconds), seconds + 2))
        return tuple(ways)

    def _function(self, name: str, questions: Sequence[BatchQuestion], named: Mapping[str, str]) -> str:
        """The shell function of a look, and how many bytes it prints at most."""
        # Together, so that a command which keeps to its own limit never meets it.
        ways = sum(len(self.ways(question.command)) for question in questions)
        most = sum(question.command.output_limit_bytes + 1 for question in questions) + FRAME_BYTES * ways
        body = "\n".join(f"skip {each.number} || {self._question_line(each, named)}" for each in questions)
        return f"most_{name}={most}\n{name}() {{\n{body}\n}}"

    def is_alone(self, question: BatchQuestion) -> bool:
        """True for a command that runs beside the shell of its lane."""
        return not self.together or question.command.alone or bool(question.command.stdin)

    def _question_line(self, question: BatchQuestion, named: Mapping[str, str]) -> str:
        command, ways = question.command, self.ways(question.command)
        stdin = base64.b64encode(command.stdin.encode(errors="replace")).decode()
        fed = f"fed {stdin} " if stdin else ""
        alone = "_alone" if self.is_alone(question) else "_apart" if command.apart else ""
        where = [f"where {quoted((condition,), named)} " for condition in command.where]
        where += [""] * (len(ways) - len(where))
        words = [
            f"{where[index]}{fed}{'run' if index == len(ways) - 1 else 'try'}{alone} {question.number} {limit:g} "
            f"{command.output_limit_bytes + 1} {quoted(argv, named)}"
            for index, (argv, limit) in enumerate(ways)
        ]
        return " ||\n".join(words)

    def _with_sample_counts(self, command: Command, argv: tuple[str, ...]) -> tuple[str, ...]:
        if command.looks is not SampleTimes.THROUGHOUT:
            return argv
        return tuple(
            word.replace("{samples}", str(self.sampling.samples)).replace("{rest}", f"{self.sampling.rest_seconds:g}")
            for word in argv
        )


def launch_command(script: str) -> str:
    """Return the command line that reads the script from the start of its stdin and runs it.

    The rest of stdin stays open as the lifeline. The line works unchanged under sh, bash, zsh, csh and fish.
    """
    return f"exec /bin/sh -c 's=$(head -c {len(script.encode())}) && eval \"$s\"'"


@dataclass(slots=True)
class FrameDecoder:
    """Turns the wire's lines back into finished runs, as they arrive."""

    batch: Batch
    nonce: str
    finished: bool = False
    signs: int = 0  # lines of the batch that came
    _streams: dict[str, bytearray] = field(init=False)
    _stderr: dict[str, str] = field(default_factory=dict)
    _most: int = field(init=False)
    _marks: tuple[bytes, ...] = field(init=False)  # before a run, before its errors, after it

    def __post_init__(self) -> None:
        self._marks = tuple(f"\n{self.nonce} {word}".encode() for word in ("q", "e\n", ".\n"))
        self._streams = {name: bytearray() for name in self.batch.parts}
        self._most = 2 * self.batch.output_limit_bytes + 1024 * 1024

    def feed(self, line: str) -> Iterator[Completed]:
        """Take a line of the wire and yield the runs that it completes; foreign lines are skipped.

        Raises: ConnectionLost when the node says that it lacks a tool without which nothing can be read.
        """
        words = line.split(" ", 2)
        if words[0] == f"{LANE_MARK}." and words[1:] == [self.nonce]:
            self.finished = True
        elif words[0] == f"{LANE_MARK}~" and words[1:] == [self.nonce]:
            self.signs += 1
        elif words[0] == f"{LANE_MARK}!" and words[1:2] == [self.nonce]:
            raise ConnectionLost(
                f"The node cannot be read: {one_line(words[-1], 80)}.", "It needs the tools of coreutils and an awk."
            )
        elif words[0] == LANE_MARK and len(words) == 3 and (stream := self._streams.get(words[1])) is not None:
            try:
                piece = binascii.a2b_base64(words[2], strict_mode=True)
            except (binascii.Error, ValueError):
                return
            self.signs += 1
            yield from self._runs_from_bytes(stream, piece)

    def _runs_from_bytes(self, stream: bytearray, piece: bytes) -> Iterator[Completed]:
        end = self._marks[2]
        # A run can only have ended if its end mark is in the new bytes, or partly in them.
        since = max(0, len(stream) - len(end))
        stream += piece
        while (at := stream.find(end, since)) >= 0:
            frame = bytes(stream[:at])
            del stream[: at + len(end)]
            since = 0
            yield from self._runs_of_frame(frame)
        if len(stream) > self._most:  # no script of ours sends this
            stream.clear()

    def _runs_of_frame(self, frame: bytes) -> Iterator[Completed]:
        begin, stderr_mark, _ = self._marks
        start = frame.rfind(begin)  # a run that was broken off may stand before it
        head_end = frame.find(b"\n", start + 1)
        errors_at = frame.find(stderr_mark, head_end)
        if start < 0 or head_end < 0 or errors_at < 0:
            return
        _, number, *when = frame[start + 1 : head_end].decode("ascii", "replace").split(" ")
        question = self.batch.by_number.get(number)
        if question is None:
            return
        out = frame[head_end + 1 : errors_at]
        said, _, tail = frame[errors_at + len(stderr_mark) :].rpartition(b"\n")
        status, _, ended = decode(tail).partition(" ")
        nothing = status == "nothing"  # an alternative that printed nothing: its own status stands on the line above
        if nothing:
            said, _, last = said.rpartition(b"\n")
            status = decode(last)
        told = decode(said[-STDERR_LIMIT_BYTES:])
        if len(said) > STDERR_LIMIT_BYTES - self.batch.is_alone(question):  # of which the node sends the end
            told = without_cut_secret(told)
        stderr = "\n".join(part for part in (self._stderr.pop(number, ""), told.strip("\n")) if part)
        if nothing:
            self._stderr[number] = stderr
            return
        started, stopped = _seconds(when[0] if when else ""), _seconds(ended)
        if question.parts:
            yield from _file_answers(question.parts, out, stderr)
        else:
            ended_with = int(status) if status.isascii() and status.isdigit() and len(status) < 4 else None
            yield _completed(question, out, stderr, ended_with, started, stopped)


def _file_answers(questions: Sequence[BatchQuestion], out: bytes, stderr: str) -> Iterator[Completed]:
    """Yield the answers of questions that one command asked; what it did not come to the end of has none."""
    _, *read = _BETWEEN.split(b"\n" + out)  # of one beginning, the pattern is found twice as fast
    times, blocks = [_seconds(decode(at)) for at in read[::2]], [block.removeprefix(b"\n") for block in read[1::2]]
    failures = tuple(dict.fromkeys(stderr.splitlines()))
    for question, block, started, ended in zip(questions, blocks, times, times[1:], strict=False):
        paths = question.command.argv[len(_FILES) :]
        errors = [line for line in failures if any(path in line for path in paths)]
        yield _completed(question, block, "\n".join(errors), int(bool(errors)), started, ended)


def _completed(
    question: BatchQuestion, out: bytes, stderr: str, status: int | None, started: float | None, ended: float | None
) -> Completed:
    limit = question.command.output_limit_bytes
    return Completed(
        probe=question.probe,
        name=question.command.name,
        look=question.look,
        stdout=decode(out[:limit]),
        stderr=stderr,
        exit_status=status,
        cut=len(out) > limit,
        started_at_uptime=started,
        took=None if started is None or ended is None else timedelta(seconds=ended - started),
    )


def _seconds(text: str) -> float | None:
    """Return the seconds that /proc/uptime printed, None if they cannot be true."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if is_uptime(seconds) else None
