"""Texts that were valid once: what a node's answer becomes when something is cut, doubled, swapped or forged in it."""

from collections.abc import Callable

from hypothesis import strategies as st

HOSTILE = "\x1b[31m\x00<!channel> $(touch pwned) `id` \u202e\r\x85"

_FORGED = (
    *(
        "",
        " ",
        "\n",
        "\t",
        "0",
        "-1",
        "nan",
        "inf",
        "1e309",
        "100.01",
        "4294967295",
        "99999999999999999999999",
        "٣",
        "²",
    ),
    *("CPU0", "all", "Average:", "%idle", "==> /proc/x <==", "==> ", "{", "}", "[", '"', ",", "null", "true"),
    *("(a) R", "max", "kB", "end", "cpu0", "uptime 1.0", HOSTILE),
)


@st.composite
def mutated(draw: st.DrawFn, text: str) -> str:
    """Return the text after a few accidents."""
    for _ in range(draw(st.integers(1, 4))):
        text = draw(st.sampled_from(_ACCIDENTS))(draw, text)
    return text


def _place(draw: st.DrawFn, text: str) -> int:
    return draw(st.integers(0, len(text)))


def _cut(draw: st.DrawFn, text: str) -> str:
    return text[: _place(draw, text)]


def _lose(draw: st.DrawFn, text: str) -> str:
    at = _place(draw, text)
    return text[:at] + text[at + draw(st.integers(1, 40)) :]


def _forge(draw: st.DrawFn, text: str) -> str:
    at = _place(draw, text)
    return text[:at] + draw(st.sampled_from(_FORGED)) + text[at + draw(st.integers(0, 6)) :]


def _digit(draw: st.DrawFn, text: str) -> str:
    digits = [at for at, character in enumerate(text) if character.isdigit()]
    if not digits:
        return text
    at = draw(st.sampled_from(digits))
    return text[:at] + draw(st.sampled_from("0123456789.-")) + text[at + 1 :]


def _line_twice(draw: st.DrawFn, text: str) -> str:
    lines = text.split("\n")
    lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(lines)))
    return "\n".join(lines)


def _line_lost(draw: st.DrawFn, text: str) -> str:
    lines = text.split("\n")
    del lines[draw(st.integers(0, len(lines) - 1))]
    return "\n".join(lines)


_ACCIDENTS: list[Callable[[st.DrawFn, str], str]] = [_cut, _lose, _forge, _digit, _line_twice, _line_lost]
