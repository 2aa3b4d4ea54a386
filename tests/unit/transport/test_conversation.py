"""A talk with a shell hears its batch through any noise and in any pieces, and comes to an end."""

import asyncio
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.app.check import DEADLINE_BEYOND_WINDOW
from bot.demo.wire import end, frame, sign
from bot.domain.batch import Batch, Sampling
from bot.domain.command import Command, Completed
from bot.domain.errors import ConnectionLost, ShellStalled, StoodStill
from bot.transport.conversation import CHATTER_LIMIT_BYTES, Conversation, lifetime
from bot.transport.timeouts import Heartbeat

pytestmark = pytest.mark.real  # it waits for real seconds

NONCE = "0123456789abcdef01234567"
BATCH = Batch.of([("p", Command(name, ("x",), lane=name)) for name in ("a", "b")], Sampling(1))
FRAMES = [
    frame(f"l{index}p0", NONCE, f"q{index}", text, b"", "0", 1, 2) for index, text in enumerate((b"A\n", b"B" * 5000))
]


def heard(chunks: list[bytes], then: bytes | None = b"", within: float = 5.0) -> tuple[list[Completed], Conversation]:
    """Let a conversation read these, and then the end (or nothing ever, for None)."""

    async def talk() -> tuple[list[Completed], Conversation]:
        waiting, sent = list(chunks), list[bytes]()

        async def read(size: int) -> bytes:
            if waiting:
                return waiting.pop(0)
            if then is None:
                await asyncio.Event().wait()
            return b""

        with Heartbeat().limit(within) as limit:
            conversation = Conversation(BATCH, NONCE, limit, "node-1")
            return [run async for run in conversation.finished_runs(read, sent.append)], conversation

    return asyncio.run(talk())


noise = st.lists(
    st.binary(max_size=50) | st.sampled_from([b"\n", b"%z", b"%z l0p0 ", b"x" * 20_000, b"%z l0p0 QQ==\n"]), max_size=6
).map(b"".join)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(noise, st.booleans(), st.lists(st.integers(0, 30_000), max_size=12))
def test_runs_are_heard_through_any_noise_before_them_and_in_any_pieces(
    before: bytes, carriage_returns: bool, cuts: list[int]
) -> None:
    wire = before + ("\n" + "".join(FRAMES) + end(NONCE)).encode()
    if carriage_returns:
        wire = wire.replace(b"\n", b"\r\n")
    at = sorted({0, *(cut for cut in cuts if cut < len(wire)), len(wire)})
    runs, conversation = heard([wire[one:other] for one, other in pairwise(at)])
    assert [(run.name, run.stdout) for run in runs] == [("a", "A\n"), ("b", "B" * 5000)]
    assert conversation.finished


def test_end_before_any_answer_tells_what_was_said_last() -> None:
    with pytest.raises(
        ConnectionLost, match=r"^node-1 accepted .* closed the session; it said: This account is closed\\x07\. "
    ):
        heard([b"hello\n", b"This account is closed\x07\n", b"\n"])
    with pytest.raises(ConnectionLost, match=r"closed the session; it said: no newline\. "):
        heard([b"no newline"])
    with pytest.raises(ConnectionLost, match=r"closed the session\. "):
        heard([])


@pytest.mark.parametrize("before", ["", "x" * 100], ids=["whole", "where the line is cut"])
def test_what_was_said_last_is_told_without_its_secrets(before: str) -> None:
    with pytest.raises(ConnectionLost) as caught:
        heard([f"{before} xoxb-0123456789-{'Fake01' * 4} is no login\n".encode()])
    assert "0123456789" not in caught.value.sentence
    assert "; it said: " in caught.value.sentence


def test_end_after_some_answers_keeps_them() -> None:
    runs, conversation = heard([FRAMES[0].encode(), FRAMES[1].encode()[:100]])
    assert [run.name for run in runs] == ["a"]
    assert not conversation.finished


def test_silence_before_any_answer_is_a_stalled_shell() -> None:
    with pytest.raises(ShellStalled, match=r"^node-1 .* did not answer in time; it said: hi\. "):
        heard([b"hi\n"], then=None, within=0.05)


def test_silence_after_some_answers_keeps_them() -> None:
    runs, _ = heard([FRAMES[0].encode()], then=None, within=0.05)
    assert [run.name for run in runs] == ["a"]


QUICK = Batch.of([("p", Command(name, ("x",), lane=name, limit=timedelta(0))) for name in ("a", "b")], Sampling(1))


def paced(monkeypatch: pytest.MonkeyPatch, said: list[bytes], every: float) -> tuple[list[Completed], float]:
    """Let a conversation that is patient for 0.3 s read a chunk so often, and nothing afterwards."""
    monkeypatch.setattr("bot.domain.batch.SILENCE", timedelta(seconds=0.3))
    monkeypatch.setattr("bot.domain.batch.SILENCE_BEYOND_COMMAND", timedelta(0))

    async def talk() -> tuple[list[Completed], float]:
        waiting, sent, loop = list(said), list[bytes](), asyncio.get_running_loop()

        async def read(size: int) -> bytes:
            if not waiting:
                await asyncio.Event().wait()
            await asyncio.sleep(every)
            return waiting.pop(0)

        began = loop.time()
        with Heartbeat(waited=lambda: 0.0).limit(30.0) as limit:
            conversation = Conversation(QUICK, NONCE, limit, "node-1")
            runs = [run async for run in conversation.finished_runs(read, sent.append)]
        return runs, loop.time() - began

    return asyncio.run(talk())


def test_silent_node_is_given_up_long_before_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    runs, took = paced(monkeypatch, [FRAMES[0].encode()], 0.0)
    assert [run.name for run in runs] == ["a"]
    assert took < 10


def test_node_that_says_it_is_at_work_is_read_for_longer_than_a_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [sign(NONCE).encode()] * 5 + [FRAMES[0].encode()] + [sign(NONCE).encode()] * 3 + [FRAMES[1].encode()]
    runs, _ = paced(monkeypatch, [*said, end(NONCE).encode()], 0.1)
    assert [run.name for run in runs] == ["a", "b"]


def test_silent_node_is_asked_for_what_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.domain.batch.SILENCE", timedelta(seconds=0.1))
    monkeypatch.setattr("bot.domain.batch.SILENCE_BEYOND_COMMAND", timedelta(0))
    monkeypatch.setattr("bot.transport.conversation.FLUSH_PATIENCE_SECONDS", 20.0)

    async def talk() -> list[str]:
        asked, waiting = asyncio.Event(), [FRAMES[0].encode(), FRAMES[1].encode(), b""]

        async def read(size: int) -> bytes:
            if len(waiting) < 3:
                await asked.wait()
            return waiting.pop(0)

        def write(line: bytes) -> None:
            assert line == b"\n"
            asked.set()

        with Heartbeat(waited=lambda: 0.0).limit(30.0) as limit:
            conversation = Conversation(QUICK, NONCE, limit, "node-1")
            return [run.name async for run in conversation.finished_runs(read, write)]

    assert asyncio.run(talk()) == ["a", "b"]


def test_what_else_a_login_prints_ends_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises((ShellStalled, StoodStill)):  # the second where this machine gave the test no processor
        paced(monkeypatch, [b"Welcome\n", sign("another").encode()] * 100, 0.05)


def test_node_that_answers_has_a_minute_by_default() -> None:
    assert Sampling().window + DEADLINE_BEYOND_WINDOW == timedelta(minutes=1)


@pytest.mark.parametrize(("limits", "silence"), [((), 10), ((8,), 10), ((30, 1), 32)])
def test_silence_leaves_a_command_its_limit(limits: tuple[int, ...], silence: int) -> None:
    asked = [("p", Command(str(limit), ("x",), limit=timedelta(seconds=limit))) for limit in limits]
    assert Batch.of(asked, Sampling(1)).silence == timedelta(seconds=silence)


def test_more_than_could_ever_be_asked_for_is_refused() -> None:
    chunk = b"Welcome to the node\n" * 3000
    with pytest.raises(ConnectionLost, match=r"^node-1 sent far more than was asked for\. "):
        heard([chunk] * (2 * CHATTER_LIMIT_BYTES // len(chunk)), within=60)


@pytest.mark.parametrize(("left", "lives"), [(20.0, 19.5), (1.2, 0.7), (0.6, 0.3), (0.01, 0.1), (-3.0, 0.1)])
def test_script_ends_before_its_listener_goes(left: float, lives: float) -> None:
    assert lifetime(left) == timedelta(seconds=lives)
