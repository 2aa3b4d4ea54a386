"""The node's side of a batch, for simulated nodes: reads a batch's script, and frames answers as the script would."""

from __future__ import annotations

import base64
import functools
import re
import shlex
from dataclasses import dataclass, replace

from bot.domain.batch_shell import LANE_MARK, WIRE_LINE_CHARS

_NONCE = re.compile(r"^N=([0-9a-f]+)$", re.MULTILINE)
_CLOCK = re.compile(r"^clock (\d+) ([0-9.]+) ([0-9.]+) & T=\$!$", re.MULTILINE)
_TURNS = re.compile(r"^set -- ([l\d ]*)$", re.MULTILINE)
_ONE = re.compile(r"^  while \[ \$busy -lt 1 \]; ", re.MULTILINE)
_LIFETIME = re.compile(r"^  timeout ([0-9.]+) /bin/sh -c 'read -r line' <&9 & h=", re.MULTILINE)
_PART = re.compile(r"^(l\d+p(\d))\(\) \{\n(.*?)\n\}$", re.MULTILINE | re.DOTALL)
_SKIP = re.compile(r"^skip q\d+ \|\| ")
_WORD = re.compile(r"^(W\d+)=('(?:[^']|'\"'\"')*'|[^\s']+)$", re.MULTILINE)  # what several argument lists share
_WHERE = re.compile(r"""^where (?:"\$W\d+"|(?:'[^']*'|"'")+|\S+) """)
_RUN = re.compile(r"(?:fed \S+ )?(run|try)(?:_alone|_apart)? (q\d+) ([0-9.]+) (\d+) (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Way:
    """A way to answer a question: the argument list, its time limit and its output limit."""

    number: str
    argv: tuple[str, ...]
    limit_seconds: float
    limit_bytes: int
    last: bool  # False: another way follows if this way prints nothing


@dataclass(frozen=True, slots=True)
class Request:
    """The questions of a batch: the ways to answer, by part (lane and look), and when each part is due.

    Shape: lanes that are not in `in_turn` begin at once. The others take turns in that order, each at the end of the
    one before it, which is waited for `turn_seconds` at most; in a script of no turns they all begin at once. The first
    second look is due after `rest_seconds`.
    """

    rest_seconds: float
    first: tuple[tuple[str, tuple[Way, ...]], ...]
    second: tuple[tuple[str, tuple[Way, ...]], ...]
    in_turn: tuple[str, ...] = ()
    turn_seconds: float = 0.0
    nonce: str = ""
    lifetime_seconds: float = 0.0


def read_script(script: str) -> Request:
    """Read a batch's script as the shell would. Scripts that differ only in nonce and lifetime are parsed once.

    Raises: ValueError when it is not a batch.
    """
    nonce, lifetime = _NONCE.search(script), _LIFETIME.search(script)
    if nonce is None or lifetime is None:
        raise ValueError("not a batch")
    alike = _LIFETIME.sub("", _NONCE.sub("", script, count=1), count=1)
    return replace(_read_questions(alike), nonce=nonce[1], lifetime_seconds=float(lifetime[1]))


@functools.lru_cache(maxsize=64)
def _read_questions(script: str) -> Request:
    words = {f"${name}": shlex.split(word)[0] for name, word in _WORD.findall(script)}
    parts: tuple[list[tuple[str, tuple[Way, ...]]], ...] = ([], [])
    for name, look, body in _PART.findall(script):
        ways = []
        for line in body.split("\n"):
            found = _RUN.fullmatch(_WHERE.sub("", _SKIP.sub("", line)).removesuffix(" ||"))
            if found is not None:
                word, number, limit, size, rest = found.groups()
                argv = tuple(words.get(given, given) for given in shlex.split(rest))
                ways.append(Way(number, argv, float(limit), int(size), word == "run"))
        parts[int(look)].append((name, tuple(ways)))
    clock, asks_one, turns = (form.search(script) for form in (_CLOCK, _ONE, _TURNS))
    due = int(clock[1]) * float(clock[2]) + float(clock[3]) if clock else 0.0
    return Request(
        rest_seconds=round(due, 6),
        first=tuple(parts[0]),
        second=tuple(parts[1]),
        in_turn=tuple(turns[1].split()) if turns and asks_one else (),
        turn_seconds=float(clock[2]) if clock else 0.0,
    )


def frame(
    part: str, nonce: str, number: str, stdout: bytes, stderr: bytes, status: str, started: float, ended: float
) -> str:
    """Return a finished run as lines of the wire; `status` is an exit status, maybe with a newline and `nothing`."""
    body = b"".join(
        (
            f"\n{nonce} {number} {started:.2f}\n".encode(),
            stdout,
            f"\n{nonce} e\n".encode(),
            stderr,
            f"\n{status} {ended:.2f}\n{nonce} .\n".encode(),
        )
    )
    step = WIRE_LINE_CHARS // 4 * 3
    pieces = (body[at : at + step] for at in range(0, len(body), step))
    return "".join(f"{LANE_MARK} {part} {base64.b64encode(piece).decode()}\n" for piece in pieces)


def sign(nonce: str) -> str:
    """Return the line of the wire that says that the node is at work."""
    return f"{LANE_MARK}~ {nonce}\n"


def end(nonce: str) -> str:
    """Return the batch's last line of the wire."""
    return f"{LANE_MARK}. {nonce}\n"
