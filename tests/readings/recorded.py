"""Captures: what a probe's commands printed on some machine, in one file a person can read, beside what it means.

`tests/captures/PROBE/DISTRO--CASE.out` holds a heading `%% COMMAND LOOK key=value …` before each output;
`DISTRO--CASE.json` is the reading it must become. `python -m tests.readings.recorded PROBE DISTRO--CASE [SAMPLES]`
records this machine. A file called `synthetic--…` was written by hand.
"""

import json
import re
import subprocess
import sys
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from bot.domain.batch import Batch, FrameDecoder, Sampling, launch_command
from bot.domain.command import Completed, Outputs
from bot.domain.probe import Probe
from bot.domain.safe_text import decode
from bot.probes import PROBES

CAPTURES = Path(__file__).parents[1] / "captures"
_HEADING = re.compile(r"%% (\S+) ([01])((?: \w+=\S+)*)\n")


def run(
    name: str, text: str, look: int = 0, at: float | None = None, took: float | None = None, **more: Any
) -> Completed:
    """Return a run that printed this; bytes on the wire would have become this text."""
    lasted = None if took is None else timedelta(seconds=took)
    return Completed("", name, look, decode(text.encode()), started_at_uptime=at, took=lasted, **more)


def once(name: str, text: str, **more: Any) -> Outputs:
    """Return the outputs of a probe with one command."""
    return Outputs(run(name, text, **more))


def twice(name: str, first: str, later: str, between: float = 5.0) -> Outputs:
    """Return the outputs of a probe that looks twice."""
    return Outputs(run(name, first, 0, 1000.0), run(name, later, 1, 1000.0 + between))


def recorded(path: Path) -> Outputs:
    """Return the outputs a capture holds."""
    _, *parts = _HEADING.split(path.read_text(encoding="utf-8"))
    runs = []
    for name, look, told, text in zip(parts[::4], parts[1::4], parts[2::4], parts[3::4], strict=True):
        keys = dict(pair.split("=", 1) for pair in told.split())
        at, took = (float(keys[key]) if key in keys else None for key in ("at", "took"))
        stderr = unquote(keys.get("stderr", ""))
        runs.append(run(name, text, int(look), at, took, stderr=stderr, exit_status=int(keys.get("exit", "0"))))
    return Outputs(*runs)


def plain(value: Any) -> Any:
    """Return a reading as JSON holds it."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list | frozenset | set):
        return [plain(item) for item in (sorted(value) if isinstance(value, frozenset | set) else value)]
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, datetime):
        return value.isoformat()
    return round(value, 6) if isinstance(value, float) else value


def read_this_machine(probes: list[Probe], samples: int, user: str | None = None) -> list[Completed]:
    """Return the runs of one real batch, through /bin/sh, as the transports send it."""
    batch = Batch.of([(probe.name, command) for probe in probes for command in probe.commands], Sampling(samples))
    script = batch.script("5ec2e7")
    launched = ["/bin/sh", "-c", launch_command(script)]
    with subprocess.Popen(
        launched, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, user=user
    ) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        shell.stdin.write(script.encode())
        shell.stdin.flush()
        unframer = FrameDecoder(batch, "5ec2e7")
        return [done for line in shell.stdout for done in unframer.feed(line.decode().rstrip("\n"))]


def _record(probe: str, case: str, samples: int) -> None:
    text = ""
    runs = read_this_machine([PROBES[probe]], samples)
    for done in sorted(runs, key=lambda done: (done.look, done.name)):
        took = done.took.total_seconds() if done.took else 0
        said = f" stderr={quote(done.stderr)}" if done.stderr else ""
        text += f"%% {done.name} {done.look} at={done.started_at_uptime} took={took:g} exit={done.exit_status}{said}\n"
        text += done.stdout if done.stdout.endswith("\n") else done.stdout + "\n"
    path = CAPTURES / probe / f"{case}.out"
    path.write_text(text, encoding="utf-8")
    reading = json.dumps(plain(PROBES[probe].read(recorded(path))), indent=1, ensure_ascii=False)
    path.with_suffix(".json").write_text(reading + "\n", encoding="utf-8")


if __name__ == "__main__":
    _record(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 2)
