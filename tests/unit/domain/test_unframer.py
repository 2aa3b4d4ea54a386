"""Every output of a batch comes back as it was, however it travels; and what is not the batch never raises."""

import base64
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.demo.wire import end, frame
from bot.domain.batch import Batch, FrameDecoder, Sampling
from bot.domain.batch_shell import STDERR_LIMIT_BYTES
from bot.domain.command import Command, Completed, SampleTimes
from bot.domain.errors import ConnectionLost
from bot.domain.safe_text import decode, without_cut_secret

NONCE = "0123456789abcdef01234567"
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

# --- what comes back

raw = st.binary(max_size=300) | st.sampled_from(
    [
        b"",
        b"\n",
        b"\n\n",
        b"a\nb",
        b"%z l0p0 QQ==\n",
        b"\n%z. x\n",
        b"q0 1.0\n",
        b" e\n",
        b" .\n",
        b"\xff\x00\x1b[2J",
        b"x" * 9000,
    ]
)
outcome = st.tuples(raw, raw, st.integers(0, 255), st.integers(1, 10**6), st.integers(0, 500))


@st.composite
def travelled(draw: st.DrawFn) -> tuple[Batch, bytes, list[Completed]]:
    """A batch, what its wire might look like byte for byte, and the runs that it means, by lane."""
    lanes = draw(st.integers(1, 3))
    looks = st.sampled_from([SampleTimes.ONCE, SampleTimes.TWICE])
    commands = [
        Command(f"c{index}", ("x",), lane=f"lane{draw(st.integers(0, lanes - 1))}", looks=draw(looks),
                output_limit_bytes=draw(st.sampled_from([0, 5, 100, 10**5])))
        for index in range(draw(st.integers(0, 5)))
    ]  # fmt: skip
    asked = Batch.of([("p", one) for one in commands], Sampling(1))
    streams: list[list[bytes]] = []
    runs: list[Completed] = []
    for name, questions in asked.parts.items():
        lines: list[bytes] = []
        for question in questions:
            earlier = draw(st.lists(raw, max_size=1))
            for stderr in earlier:  # a way that printed nothing
                lines += frame(name, NONCE, question.number, b"", stderr, "1\nnothing", 1, 2).encode().splitlines(True)
            stdout, stderr, status, started, took = draw(outcome)
            text = frame(name, NONCE, question.number, stdout, stderr, str(status), started / 4, (started + took) / 4)
            lines += text.encode().splitlines(True)
            limit = question.command.output_limit_bytes
            told = (
                decode(one) if len(one) < STDERR_LIMIT_BYTES else without_cut_secret(decode(one))
                for one in (*earlier, stderr)
            )
            said = "\n".join(part for part in (one.strip("\n") for one in told) if part)
            runs.append(
                Completed("p", question.command.name, question.look, decode(stdout[:limit]), said, status,
                          len(stdout) > limit, started / 4, timedelta(seconds=took / 4))
            )  # fmt: skip
        streams.append(lines)
    wire: list[bytes] = []
    while any(streams):
        stream = draw(st.sampled_from([lines for lines in streams if lines]))
        wire.append(stream.pop(0))
        if draw(st.integers(0, 9)) == 0:
            wire.append(draw(st.binary(max_size=40)).replace(b"\n", b"") + b"\n")
    return asked, b"".join(wire) + end(NONCE).encode(), runs


@unhurried
@given(travelled())
def test_runs_come_back_as_they_were_however_lanes_are_mixed(case: tuple[Batch, bytes, list[Completed]]) -> None:
    asked, wire, runs = case
    unframer = FrameDecoder(asked, NONCE)
    lines = [line.decode("ascii", "replace") for line in wire.split(b"\n")]
    back = [run for line in lines for run in unframer.feed(line)]
    assert {(run.name, run.look): run for run in back} == {(run.name, run.look): run for run in runs}
    assert len(back) == len(runs)
    assert unframer.finished


marks = ["q0 1.0\n", "q0\n", "q0 nan\n", "q9 x\n", "e\n", ".\n"]
ends = ["0 2.0", "² inf", "nothing 1", "0\nnothing 1", "9" * 5000, "256 -1"]
torn = [*(f"\n{NONCE} {mark}" for mark in marks), *(f"\n{line}" for line in ends)]
pieces = st.lists(st.binary(max_size=60) | st.sampled_from(torn).map(str.encode), max_size=12)


@unhurried
@given(pieces, st.integers(1, 40))
def test_frames_that_were_tampered_with_never_raise(said: list[bytes], step: int) -> None:
    unframer = FrameDecoder(Batch.of([("p", Command("c", ("x",)))], Sampling(1)), NONCE)
    stream = b"".join(said)
    for at in range(0, len(stream), step):
        for run in unframer.feed(f"%z l0p0 {base64.b64encode(stream[at : at + step]).decode()}"):
            assert run.name == "c"
            assert isinstance(run.failure, str | None)
    assert not unframer.finished


@unhurried
@given(st.text(max_size=60) | st.text(max_size=30).map(lambda text: f"%z {text}"))
def test_lines_that_are_not_ours_are_passed_over(line: str) -> None:
    unframer = FrameDecoder(Batch.of([("p", Command("c", ("x",)))], Sampling(1)), NONCE)
    assert list(unframer.feed(line)) == []
    assert not unframer.finished


@pytest.mark.parametrize("line", ["%z.", "%z. ", "%z. 0123", f"%z. {NONCE} x", f" %z. {NONCE}"])
def test_end_counts_only_with_the_secret(line: str) -> None:
    unframer = FrameDecoder(Batch.of([], Sampling(1)), NONCE)
    list(unframer.feed(line))
    assert not unframer.finished
    list(unframer.feed(f"%z. {NONCE}"))
    assert unframer.finished


def test_node_without_a_tool_is_said_to_lack_it() -> None:
    unframer = FrameDecoder(Batch.of([], Sampling(1)), NONCE)
    assert list(unframer.feed("%z! missing awk")) == []
    with pytest.raises(ConnectionLost, match=r"^The node cannot be read: missing awk\.") as caught:
        list(unframer.feed(f"%z! {NONCE} missing awk"))
    assert "coreutils" in caught.value.try_next


def test_stream_without_an_end_is_not_kept_for_ever() -> None:
    unframer = FrameDecoder(Batch.of([("p", Command("c", ("x",), output_limit_bytes=10))], Sampling(1)), NONCE)
    piece = base64.b64encode(b"y" * 3000).decode()
    for _ in range(2000):
        assert list(unframer.feed(f"%z l0p0 {piece}")) == []
        assert list(unframer.feed(f"%z l7p0 {piece}")) == []
    assert sum(len(stream) for stream in unframer._streams.values()) < 2 * 1024 * 1024
