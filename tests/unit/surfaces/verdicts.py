"""Verdicts for tests: one of each kind, and arbitrary ones."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from bot.domain.action import Plan, Step
from bot.domain.mute import Mute
from bot.domain.probe import Unread
from bot.domain.verdict import Confidence, Evidence, RuledOut, Status, Undecided, Verdict
from tests.unit.surfaces.heats import heat_of

HOSTILE = "<!channel> <@U123> *bold* `code` http://evil.example \x1b[31mred\x00 \u202egnp.exe & $(touch pwned)"

FOUNDING = Verdict(
    node="node-123",
    status=Status.CRITICAL,
    cause="leaked-memory-cgroups",
    confidence=Confidence.CONFIRMED,
    summary="ecs.service leaks memory cgroups: 68,440 dying beside 240 alive",
    evidence=(
        Evidence("dying", "cgroups", "68,440 memory cgroups are dying", ("memory\t4\t68680\t1",)),
        Evidence("held", "cpu", "core 39 was held in the kernel for 5 s", ("39 0.00 100.00",)),
    ),
    ruled_out=(RuledOut("cpu-steal", "no time was stolen"),),
    unread=(Unread("containers", "permission denied"),),
    undecided=(Undecided("io-stall", "the processes were not read", would_decide="reading processes"),),
    suspects=("ecs.service",),
    plan=Plan(
        "node-123",
        (
            Step("disable_unit", {"unit": "ecs.service"}, ("sudo -n systemctl disable --now -- ecs.service",)),
            Step("reboot", {}, ("exec sudo -n systemctl reboot",)),
        ),
    ),
    lasting_fix="Take the unit out of the image.",
    took=timedelta(seconds=5.3),
)

MUTED = replace(
    FOUNDING,
    plan=None,
    muted=(Mute("leaked-memory-cgroups", "*", datetime(2026, 11, 29, 12, tzinfo=UTC), "replaced", "terminal:ann"),),
)

_text = st.one_of(st.text(max_size=60), st.just(HOSTILE), st.text("<&>`*\n\t", max_size=800), st.just("x" * 9000))
_evidence = st.builds(Evidence, _text, _text, _text, st.lists(_text, max_size=6).map(tuple))
_commands = st.lists(_text, min_size=1).map(tuple)
_steps = st.lists(st.builds(Step, _text, st.just({"unit": HOSTILE}), _commands), min_size=1).map(tuple)
_plan = st.builds(Plan, _text, _steps)

_instants = st.datetimes(datetime(1970, 1, 2), max_value=datetime(9000, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001

arbitrary = st.builds(
    Verdict,
    node=st.just("node-1"),
    status=st.sampled_from(Status),
    cause=st.one_of(st.none(), _text),
    confidence=st.one_of(st.none(), st.sampled_from(Confidence)),
    summary=_text,
    evidence=st.lists(_evidence, max_size=12).map(tuple),
    ruled_out=st.lists(st.builds(RuledOut, _text, _text, st.booleans()), max_size=20).map(tuple),
    unread=st.lists(st.builds(Unread, _text, _text), max_size=14).map(tuple),
    muted=st.lists(
        st.builds(Mute, _text, _text, _instants, _text, _text),
        max_size=3,
    ).map(tuple),
    undecided=st.lists(st.builds(Undecided, _text, _text, st.booleans(), _text), max_size=9).map(tuple),
    suspects=st.lists(_text, max_size=3).map(tuple),
    plan=st.one_of(st.none(), _plan),
    lasting_fix=_text,
    took=st.timedeltas(timedelta(0), timedelta(minutes=2)),
    try_next=_text,
    heat=st.sampled_from((None, heat_of(2, 1), heat_of(192), heat_of(1000, samples=60))),
)
