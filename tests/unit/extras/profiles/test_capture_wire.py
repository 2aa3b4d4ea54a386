"""The wire of a capture: facts, gzip and the end are told apart, however the bytes are cut."""

import base64
import gzip
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.errors import ConnectionLost
from bot.extras.profiles.capture_wire import CaptureWire
from bot.extras.profiles.perf_command import CaptureRequest
from tests.known import known

TEXT = b"kubelet 1/2 [039] 1.0: cycles: \n\tff f ([kernel.kallsyms])\n\n" * 300
NOISE = b"Welcome!\n%p another data\n%p 6e kernel 9\n"  # a login's chatter, and a word with another nonce
WIRE = (
    NOISE
    + b"%p abc kernel 5.4.0\n%p abc memory 100 50\n%p abc room /tmp 70000\n%p abc perf\n%p abc ready\n"
    + b"%p abc pairs 100000000:102001000 200000000:202001000\n%p abc clock 5000.5 202.00 202.02\n%p abc data\n"
    + gzip.compress(TEXT)
    + b"\n%p abc record 124\n%p abc 0m0.00s 0m0.01s\n%p abc 0m0.10s 1m0.20s\n%p abc text 0\n%p abc 0m0s 0m0s\n"
    + b"%p abc 0m0.50s 0m0.00s\n%p abc errors "
    + base64.b64encode(b"wrote 1 MB\x1b[2J")
    + b"\n%p abc end\n"
)


@given(st.lists(st.integers(0, len(WIRE)), max_size=12))
def test_cut_anywhere_it_says_the_same(cuts: list[int]) -> None:
    wire, told, places = CaptureWire("abc"), b"", sorted({0, len(WIRE), *cuts})
    for start, stop in itertools.pairwise(places):
        told += b"".join(wire.feed(WIRE[start:stop]))
    assert told == TEXT
    assert wire.ready
    assert wire.ended
    assert wire.facts.text("kernel") == "5.4.0"
    assert wire.facts.text("perf") == ""
    assert wire.facts.number("memory", 1) == 50
    assert wire.facts.rooms == {"/tmp": 70000}
    end = wire.end()
    assert (end.record_status, end.text_status) == (124, 0)
    assert end.said == "wrote 1 MB\\x1b[2J"
    assert end.spent_seconds == pytest.approx(60.3)
    assert end.text_spent_seconds == pytest.approx(0.5)
    assert end.clock.minus_mono == pytest.approx(5000.5 - 202.01)
    assert known(end.kernel_log).seconds == pytest.approx(2.001)


def test_last_words_of_perf_do_not_begin_within_a_secret() -> None:
    said = b"unter2fake -h db\n" + b"cannot open\n" * 200
    wire = CaptureWire("abc")
    list(wire.feed(b"%p abc errors " + base64.b64encode(said[:2000]) + b"\n%p abc end\n"))
    assert wire.end().said.startswith("cannot open\ncannot open\n")


def test_damaged_gzip_is_said_and_not_guessed() -> None:
    wire = CaptureWire("abc")
    with pytest.raises(ConnectionLost, match="damaged"):
        list(wire.feed(b"%p abc data\n" + gzip.compress(TEXT)[:40] + b"\xff" * 400))


def test_chatter_without_end_is_not_kept() -> None:
    wire = CaptureWire("abc")
    for _ in range(40):
        assert list(wire.feed(b"y" * 100_000)) == []
    with pytest.raises(ConnectionLost, match="far more than was asked for"):
        list(wire.feed(b"y" * 1_000_000))


def test_what_unpacks_to_far_more_comes_in_small_pieces() -> None:
    wire = CaptureWire("abc")
    pieces = list(wire.feed(b"%p abc data\n" + gzip.compress(bytes(50_000_000), 9)))
    assert sum(map(len, pieces)) == 50_000_000
    assert max(map(len, pieces)) <= 1 << 20


@pytest.mark.parametrize(("hertz", "seconds"), [(50, 10), (49, 11), (997, 5), (99, 0)])
def test_rates_and_lengths_that_no_right_is_given_for_are_refused(hertz: int, seconds: int) -> None:
    with pytest.raises(ValueError, match=r"49 or 99|5, 10, 30 or 60"):
        CaptureRequest(hertz, seconds)


def test_much_text_at_once_that_ends_with_the_stream_comes_to_its_end() -> None:
    much = TEXT * 120  # more than is unpacked at once, so that the end of the stream comes out of what was left over
    assert len(much) > 2 << 20
    wire = CaptureWire("abc")
    packed = b"%p abc data\n" + gzip.compress(much) + b"\n%p abc text 0\n%p abc end\n"
    pieces = []
    for piece in itertools.islice(wire.feed(packed), 100):
        assert piece
        pieces.append(piece)
    assert b"".join(pieces) == much
    assert wire.ended
    assert wire.end().text_status == 0
