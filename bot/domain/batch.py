"""A batch: all commands of a diagnosis as one POSIX-sh script, and the frames in which its answers come back.

The script runs in lanes, side by side; within a lane commands run one after another. Each lane's output is a byte
stream (frame heads carry a secret nonce, so that no output can pretend to be one) which travels as short base64
lines, because lines of under 4 kB are the only writes that several processes may make to one pipe without mixing.
"""

from __future__ import annotations

import base64
import binascii
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from bot.domain.command import Command, Completed, Looks
from bot.domain.errors import ConnectionLost
from bot.domain.safe_text import decode, one_line

NEEDED_TOOLS = ("base64", "awk", "head", "tail", "timeout", "sleep")
STDERR_LIMIT_BYTES = 2000
LANE_MARK = "%z"

# Second looks run in the last part of the window, so that they end with it and not after it.
SECOND_LOOK_BEFORE_END = 0.3

# The lifeline: when our end of stdin closes, everything in this session dies. `timeout` puts its child into a process
# group of its own, so killing our group is not enough; the session is what they share. Root's children cannot be
# killed from here and end at their own limit.
_PREAMBLE = r"""
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin; LC_ALL=C; LANG=C; LANGUAGE=C
S_COLORS=never; SYSTEMD_COLORS=0; SYSTEMD_PAGER=cat; PAGER=cat; TERM=dumb
export PATH LC_ALL LANG LANGUAGE S_COLORS SYSTEMD_COLORS SYSTEMD_PAGER PAGER TERM
unset ENV BASH_ENV
for tool in @TOOLS@; do command -v "$tool" >/dev/null 2>&1 || { echo "@MARK@! missing $tool"; exit 1; }; done
renice -n 19 -p $$ >/dev/null 2>&1; command -v ionice >/dev/null 2>&1 && ionice -c 3 -p $$ >/dev/null 2>&1
N=@NONCE@
exec 9<&0 </dev/null
die() {
  read -r me _ </proc/self/stat
  round=0
  while [ "$round" -lt 5 ]; do
    found=
    for stat in /proc/[0-9]*/stat; do
      { read -r line <"$stat"; } 2>/dev/null || continue
      pid=${stat#/proc/}; pid=${pid%/stat}; rest=${line##*) }
      set -- $rest
      [ "$4" = "$S" ] && [ "$1" != Z ] && [ "$pid" != "$me" ] && kill -KILL "$pid" 2>/dev/null && found=1
    done
    [ -n "$found" ] || break
    round=$((round + 1))
  done
  kill -KILL 0
}
read -r line </proc/$$/stat; set -- ${line##*) }; S=$4
( exec >/dev/null 2>&1; read -r _ <&9; die ) &
W=$!
exec 9<&-
run() {
  i=$1 t=$2 c=$3; shift 3
  read -r up _ </proc/uptime
  printf '\n%s %s %s\n' "$N" "$i" "$up"
  e=$({ { timeout -k 1 "$t" "$@" 2>&4 3>&- 4>&-; printf '\n%s' "$?" >&4; } | head -c "$c" >&3; } 4>&1 \
    | tail -c @STDERR@)
  read -r up _ </proc/uptime
  printf '\n%s e\n%s %s\n%s .\n' "$N" "$e" "$up" "$N"
}
try() {
  i=$1 t=$2 c=$3; shift 3
  read -r up _ </proc/uptime
  printf '\n%s %s %s\n' "$N" "$i" "$up"
  e=$({ { timeout -k 1 "$t" "$@" 2>&4 3>&- 4>&-; printf '\n%s' "$?" >&4; } | head -c "$c" \
    | { grep -a . >&3 || printf '\nnothing' >&4; }; } 4>&1 | tail -c @STDERR@)
  read -r up _ </proc/uptime
  printf '\n%s e\n%s %s\n%s .\n' "$N" "$e" "$up" "$N"
  case $e in *nothing*) return 1;; esac
  return 0
}
frame() { base64 -w 900 | awk -v p="@MARK@ $1" '{ print p, $0; fflush() }'; }
"""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How long the node is watched: one window of whole seconds."""

    samples: int = 5

    @property
    def window(self) -> timedelta:
        """The window's length."""
        return timedelta(seconds=self.samples)

    @property
    def rest_seconds(self) -> float:
        """Seconds from the start of the window to the second looks."""
        return max(0.5, self.samples - SECOND_LOOK_BEFORE_END)


@dataclass(frozen=True, slots=True)
class Question:
    """One run of one command inside a batch; `number` is its name on the wire."""

    number: str
    probe: str
    command: Command
    look: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Every question of one diagnosis, and how long the node is watched meanwhile."""

    questions: tuple[Question, ...]
    sampling: Sampling

    @classmethod
    def of(cls, commands: Sequence[tuple[str, Command]], sampling: Sampling) -> Batch:
        """Number the looks of every `(probe, command)`."""
        questions: list[Question] = []
        for probe, command in commands:
            looks = (0, 1) if command.looks is Looks.TWICE else (0,)
            for look in looks:
                questions.append(Question(f"q{len(questions)}", probe, command, look))
        return cls(tuple(questions), sampling)

    def script(self, nonce: str) -> str:
        """Return the whole batch as one POSIX-sh script; nothing in it is taken from outside unquoted."""
        preamble = (
            _PREAMBLE.replace("@TOOLS@", " ".join(NEEDED_TOOLS))
            .replace("@MARK@", LANE_MARK)
            .replace("@NONCE@", shlex.quote(nonce))
            .replace("@STDERR@", str(STDERR_LIMIT_BYTES))
        )
        lanes = sorted({question.command.lane for question in self.questions})
        body: list[str] = []
        for index, lane in enumerate(lanes):
            parts: list[str] = []
            for look in (0, 1):
                mine = [q for q in self.questions if q.command.lane == lane and q.look == look]
                if mine:
                    lines = "\n".join(self._line(question) for question in mine)
                    body.append(f"l{index}p{look}() {{\n{lines}\n}}")
                    parts.append(f"{{ l{index}p{look}; }} 3>&1 | frame l{index}p{look}")
            if len(parts) == 2:
                pieces = f"sleep {self.sampling.rest_seconds:g} & r=$!; {parts[0]}; wait $r; {parts[1]}"
            else:
                pieces = parts[0]
            body.append(f"( {pieces} ) & L{index}=$!")
        waits = " ".join(f"$L{index}" for index in range(len(lanes)))
        body.append(f'wait {waits}\nkill "$W" 2>/dev/null\necho "{LANE_MARK}."')
        return preamble + "\n".join(body) + "\n"

    def _line(self, question: Question) -> str:
        command = question.command
        seconds = command.limit.total_seconds()
        if command.looks is Looks.THROUGHOUT:
            seconds += self.sampling.samples
        ways = [(command.argv, seconds), *((argv, seconds) for argv in command.alternatives)]
        if command.as_root:
            # timeout inside sudo: outside it would end sudo and leave root's child running.
            ways.append((root_argv(self._filled(command.argv), seconds), seconds + 2))
        words = [
            f"{'run' if index == len(ways) - 1 else 'try'} {question.number} {limit:g} "
            f"{command.output_limit_bytes + 1} {shlex.join(self._filled(argv))}"
            for index, (argv, limit) in enumerate(ways)
        ]
        return " ||\n".join(words)

    def _filled(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(
            word.replace("{samples}", str(self.sampling.samples)).replace("{rest}", f"{self.sampling.rest_seconds:g}")
            for word in argv
        )


def root_argv(argv: tuple[str, ...], seconds: float) -> tuple[str, ...]:
    """Return the argument list that runs `argv` as root, ended inside sudo: exactly what a sudoers line must allow.

    Example:
    >>> root_argv(("dmesg",), 4)
    ('sudo', '-n', 'timeout', '-k', '1', '4', 'dmesg')
    """
    return ("sudo", "-n", "timeout", "-k", "1", f"{seconds:g}", *argv)


def root_ways(command: Command) -> tuple[tuple[str, ...], ...]:
    """Return every argument list that a command runs as root where a node allows it.

    Example:
    >>> root_ways(Command("log", ("sh", "-c", "sudo -n timeout -k 1 4 dmesg | tail"), sudo=(("dmesg",),)))
    (('sudo', '-n', 'timeout', '-k', '1', '4', 'dmesg'),)
    """
    seconds = command.limit.total_seconds()
    ways = (*((command.argv,) if command.as_root else ()), *command.sudo)
    return tuple(root_argv(argv, seconds) for argv in ways)


def launch_command(script: str) -> str:
    """Return the command line that reads the script from the first bytes of its stdin and runs it.

    The rest of stdin stays open as the lifeline. The line is the same under sh, bash, zsh, csh and fish.
    """
    return f"exec /bin/sh -c 's=$(head -c {len(script.encode())}) && eval \"$s\"'"


@dataclass(slots=True)
class Unframer:
    """Turns the wire's lines back into finished runs, as they end."""

    batch: Batch
    nonce: str
    finished: bool = False
    _streams: dict[str, bytes] = field(default_factory=dict)
    _by_number: Mapping[str, Question] = field(init=False)
    _stderr: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_number = {question.number: question for question in self.batch.questions}

    def feed(self, line: str) -> Iterator[Completed]:
        """Take one line of the wire and yield the runs that it completes; a line that is not ours is passed over.

        Raises: ConnectionLost when the node says that it lacks a tool without which nothing can be read.
        """
        if line == f"{LANE_MARK}.":
            self.finished = True
            return
        if line.startswith(f"{LANE_MARK}! "):
            raise ConnectionLost(f"The node cannot be read: {one_line(line[len(LANE_MARK) + 2 :], 80)}.")
        words = line.split(" ")
        if len(words) != 3 or words[0] != LANE_MARK:
            return
        try:
            piece = base64.b64decode(words[2], validate=True)
        except (binascii.Error, ValueError):
            return
        stream = self._streams.get(words[1], b"") + piece
        end = f"\n{self.nonce} .\n".encode()
        # A run can only have ended if its end mark is in what is new (or straddles it).
        since = max(0, len(stream) - len(piece) - len(end))
        while (at := stream.find(end, since)) >= 0:
            completed = self._run(stream[:at])
            if completed is not None:
                yield completed
            stream, since = stream[at + len(end) :], 0
        self._streams[words[1]] = stream

    def _run(self, frame: bytes) -> Completed | None:
        head_mark, stderr_mark = f"\n{self.nonce} q".encode(), f"\n{self.nonce} e\n".encode()
        start = frame.find(head_mark)
        head_end = frame.find(b"\n", start + 1)
        errors_at = frame.find(stderr_mark, head_end)
        if start < 0 or head_end < 0 or errors_at < 0:
            return None
        head = frame[start + 1 : head_end].decode("ascii", "replace").split(" ")
        question = self._by_number.get(head[1])
        if question is None:
            return None
        out = frame[head_end + 1 : errors_at]
        said, _, tail = decode(frame[errors_at + len(stderr_mark) :]).rpartition("\n")
        status, _, ended = tail.partition(" ")
        if status == "nothing":  # an alternative that printed nothing: its own status stands on the line above
            said, _, status = said.rpartition("\n")
        limit = question.command.output_limit_bytes
        cut = len(out) > limit
        earlier = self._stderr.pop(question.number, "")
        stderr = "\n".join(part for part in (earlier, said.strip("\n")) if part)
        if tail.startswith("nothing "):
            self._stderr[question.number] = stderr
            return None
        started = _number(head[2]) if len(head) > 2 else None
        stopped = _number(ended)
        took = timedelta(seconds=stopped - started) if started is not None and stopped is not None else None
        return Completed(
            probe=question.probe,
            name=question.command.name,
            look=question.look,
            stdout=decode(out[:limit]),
            stderr=stderr,
            exit_status=int(status) if status.isdigit() else None,
            cut=cut,
            started_at_uptime=started,
            took=took,
        )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
