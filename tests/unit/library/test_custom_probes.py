"""A probe without Python: a command and fields, read as they are written or not at all."""

import json
import sys
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.batch import Batch, Sampling
from bot.domain.command import Completed, Outputs, SampleTimes
from bot.domain.errors import CannotRead
from bot.domain.probe import CustomReading, Unread
from bot.library.custom_probes import CustomProbe, make_probe
from bot.library.kinds import ValueKind
from bot.library.shapes import FieldShape, ProbeShape
from tests.known import known_as

DF = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda1 1000 970 30 97% /\ntmpfs 10 1 9 10% /run\n"


def regex(pattern: str, kind: str = "number") -> FieldShape:
    return FieldShape(type=kind, regex=pattern)


def path(text: str, kind: str = "number") -> FieldShape:
    return FieldShape(type=kind, json=text)


def make(fields: dict[str, FieldShape], **more: Any) -> CustomProbe:
    def complain(key: str, says: str) -> None:
        raise AssertionError(f"{key} {says}")

    return make_probe(ProbeShape("disk", more.pop("command", ["df", "-P", "/"]), fields, **more), complain)


def faults(fields: dict[str, FieldShape] | None = None, **more: Any) -> list[str]:
    found: list[str] = []
    name, command = more.pop("name", "disk"), more.pop("command", ["df"])
    shape = ProbeShape(name, command, fields or {"used": regex("x")}, **more)
    make_probe(shape, lambda key, says: found.append(f"{key} {says}"))
    return found


def read(made: CustomProbe, *looks: str | Completed) -> CustomReading | Unread:
    runs = [
        text if isinstance(text, Completed) else Completed("disk", "disk", look, text)
        for look, text in enumerate(looks)
    ]
    reading: CustomReading | Unread = made.probe.read(Outputs(*runs))
    return reading


def test_without_re2_a_regex_is_refused_with_a_sentence_and_json_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    assert "needs google-re2, which is not installed here; a field with json does without it" in faults()[0]
    assert make({"used": path("a.b")}).probe.name == "disk"


def test_field_is_the_first_group_of_the_first_line_that_matches() -> None:
    made = make({"used_percent": regex(r"(\d+)% /$"), "first": regex(r"(\d+)%")})
    reading = known_as(read(made, DF), CustomReading)
    assert reading.fields == {"used_percent": 97, "first": 97}
    assert reading.source == ("/dev/vda1 1000 970 30 97% /",)
    assert made.kinds == {"used_percent": ValueKind.NUMBER, "first": ValueKind.NUMBER}


def test_whole_match_is_the_field_where_there_is_no_group() -> None:
    reading = read(make({"device": regex("/dev/[a-z0-9]+", "text"), "full": regex("9[0-9]%", "text")}), DF)
    assert isinstance(reading, CustomReading)
    assert reading.fields == {"device": "/dev/vda1", "full": "97%"}


def test_lines_are_looked_at_one_by_one() -> None:
    reading = read(make({"a": regex(r"on\s+/dev", "text"), "b": regex("^tmpfs (.*)$", "text")}), DF)
    assert isinstance(reading, CustomReading)
    assert reading.fields == {"b": "10 1 9 10% /run"}


def test_line_over_four_kilobytes_is_not_looked_at() -> None:
    made = make({"a": regex("(a+)$", "text")})
    assert read(made, "a" * 4096) == CustomReading("disk", {"a": "a" * 499 + "…"}, ("a" * 399 + "…",))
    assert isinstance(read(made, "a" * 4097), Unread)
    assert isinstance(read(made, "é" * 2049 + "a"), Unread)


def test_line_is_cut_where_it_holds_no_secret_any_more() -> None:
    reading = read(make({"a": regex("^(ERROR)", "text")}), f"ERROR {'-' * 370} https://bot:Fa0ke1Fa2ke3Fa4ke5@db-7/x")
    assert isinstance(reading, CustomReading)
    assert "https://bot:[redact" in reading.source[0]
    assert "Fa0ke" not in reading.source[0], "half a secret does not look like one"
    whole = read(make({"a": regex("^(.*)$", "text")}), f"{'-' * 455} https://bot:Fa0ke1Fa2ke3Fa4ke5Fa6ke7@db-7/x")
    assert "https://bot:[redact" in str(whole)
    assert "Fa0ke" not in str(whole), "a field of it neither"


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("5", "number", 5),
        ("-5.50", "number", -5.5),
        ("1e3", "number", 1000.0),
        ("007", "number", 7),
        ("1e999", "number", None),
        ("9" * 31, "number", None),
        ("9" * 30, "number", None),
        ("5x", "number", None),
        ("nan", "number", None),
        ("0x10", "number", None),
        ("1,234", "number", None),
        ("", "number", None),
        ("٣", "number", None),
        ("yes", "bool", True),
        ("ON", "bool", True),
        ("0", "bool", False),
        ("false", "bool", False),
        ("maybe", "bool", None),
        ("a b", "text", "a b"),
    ],
)
def test_text_is_taken_as_its_type_or_not_at_all(text: str, kind: str, value: object) -> None:
    reading = read(make({"x": regex("x=<(.*)>", kind), "there": regex("x=", "text")}), f"x=<{text}>")
    assert isinstance(reading, CustomReading)
    assert reading.fields.get("x") == value
    assert type(reading.fields.get("x")) is type(value)


@pytest.mark.parametrize(
    ("place", "kind", "value"),
    [
        ("a.b.0.c", "number", 5),
        ("a.b.1", "text", "x"),
        ("a.b.1", "number", None),
        ("a.b.2", "number", None),
        ("a.b.c", "number", None),
        ("a.b.-1", "text", None),
        ("a.b", "text", None),
        ("a.yes", "bool", True),
        ("a.yes", "number", None),
        ("a.yes", "text", "true"),
        ("a.0", "text", "zero"),
        ("a.big", "number", None),
        ("a.half", "number", 0.5),
        ("a.half", "bool", None),
        ("a.digits", "number", 12),
        ("a.null", "text", None),
        ("gone", "text", None),
    ],
)
def test_json_path_leads_to_the_value_or_nowhere(place: str, kind: str, value: object) -> None:
    document = {
        "there": 1,
        "a": {"b": [{"c": 5}, "x"], "yes": True, "0": "zero", "big": 10**30, "half": 0.5, "null": None},
    }
    document["a"]["digits"] = "12"  # type: ignore[index]
    reading = read(make({"x": path(place, kind), "there": path("there")}), json.dumps(document))
    assert isinstance(reading, CustomReading)
    assert reading.fields.get("x") == value
    assert type(reading.fields.get("x")) is type(value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a": 1', "the output is not JSON"),
        ("", "the output was empty"),
        ("[" * 100_000, "the output is not JSON"),
        ('{"a": ' + "9" * 5000 + "}", "the output is not JSON"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": -Infinity}', "-Infinity is not JSON"),
        ("[]", "none of its fields is in the output"),
        ("5", "none of its fields is in the output"),
        ('{"b": 1}', "none of its fields is in the output"),
    ],
)
def test_output_that_is_not_the_json_that_was_meant_is_unread(text: str, says: str) -> None:
    reading = known_as(read(make({"a": path("a")}), text), Unread)
    assert says in reading.reason


@pytest.mark.parametrize(
    ("run", "says"),
    [
        (Completed("disk", "disk", 0, "", "sh: df: command not found", 127), "the command is missing"),
        (Completed("disk", "disk", 0, "97% /", "", None), "the answer never came"),
        (Completed("disk", "disk", 0, "97% /", "", 124), "the command stalled"),
        (Completed("disk", "disk", 0, "97% /", cut=True), "the output was cut short"),
        (Completed("disk", "disk", 0, "x\n" * 20_001), "more than 20000 lines"),
    ],
)
def test_command_that_failed_is_unread_with_its_reason(run: Completed, says: str) -> None:
    reading = known_as(read(make({"used": regex(r"(\d+)% /$")}), run), Unread)
    assert says in reading.reason


def test_probe_that_looks_twice_knows_the_rise() -> None:
    made = make({"n": regex(r"n=(\d+)"), "s": regex("s=(.*)", "text")}, look="twice")
    reading = known_as(read(made, "n=5\ns=a", "n=8\ns=b"), CustomReading)
    assert reading.fields == {"n": 5, "n_later": 8, "n_rise": 3, "s": "a", "s_later": "b"}
    assert set(made.kinds) == set(reading.fields)
    assert made.probe.commands[0].looks is SampleTimes.TWICE
    assert isinstance(read(made, "n=5\ns=a"), Unread)


def test_control_characters_of_the_node_become_visible() -> None:
    reading = known_as(read(make({"a": path("a", "text")}), '{"a": "x\\u001b[31m\\n\\u202ey"}'), CustomReading)
    assert reading.fields == {"a": "x\\x1b[31m \\u202ey"}


def test_command_is_capped_like_the_rest() -> None:
    command = make({"a": regex("a")}).probe.commands[0]
    assert (command.limit, command.output_limit_bytes, command.as_root) == (timedelta(seconds=4), 65536, False)
    command = make({"a": regex("a")}, limit="1.5s", output_limit="2kB").probe.commands[0]
    assert (command.limit, command.output_limit_bytes) == (timedelta(seconds=1.5), 2048)


def test_hostile_arguments_reach_the_batch_as_single_words() -> None:
    made = make({"a": regex("a")}, command=["echo", "$(touch pwned)", "`id`", "a'b", ";reboot", "-n"])
    script = Batch.of([("disk", made.probe.commands[0])], Sampling(1)).script("nonce")
    assert """echo '$(touch pwned)' '`id`' 'a'"'"'b' ';reboot' -n""" in script


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"name": "and"}, 'name "and" is a reserved word in conditions'),
        ({"name": "max"}, 'name "max" is a reserved word in conditions'),
        ({"command": ["df -P /"]}, 'command "df -P /" is not a program; write a list'),
        ({"command": [""]}, 'command "" is not a program'),
        ({"command": ["-df"]}, 'command "-df" is not a program'),
        ({"command": ["X=1", "df"]}, 'command "X=1" is not a program'),
        ({"command": ["df", "a\nb"]}, "command contains a line break"),
        ({"command": ["rm", "-rf", "/"]}, "command rm writes; a probe only reads"),
        ({"limit": "soon"}, "limit is soon; a duration is written like"),
        ({"limit": "11s"}, 'limit is 11s; it should be from "100ms" to "10s"'),
        ({"limit": 0.0}, 'limit is 0s; it should be from "100ms" to "10s"'),
        ({"output_limit": "1MB"}, 'output_limit is 1MB; it should be a size like "64kB", at most "256kB"'),
        ({"output_limit": "257kB"}, "output_limit is 257kB"),
        ({"output_limit": 0}, "output_limit is 0"),
        ({"fields": {"if": regex("x")}}, 'fields.if "if" is a reserved word in conditions'),
        ({"fields": {"a": FieldShape("number")}}, "fields.a needs either regex or json"),
        ({"fields": {"a": FieldShape("number", "x", "y")}}, "fields.a needs either regex or json"),
        ({"fields": {"a": regex("(x")}}, "fields.a is not an RE2 expression: missing ): (x"),
        ({"fields": {"a": regex("(?=x)y")}}, "RE2 has no look-around"),
        ({"fields": {"a": regex("(x)(y)")}}, "fields.a has 2 groups; a single group may capture the value"),
        ({"fields": {"a": path("a..b")}}, 'fields.a "a..b" is not a path'),
        ({"fields": {"a": path("a"), "b": regex("b")}}, "fields are by regex and by json"),
        ({"fields": {"a": regex("a"), "a_rise": regex("b")}, "look": "twice"}, "a_rise is the name of another field"),
    ],
)
def test_slip_in_a_probe_is_told(more: dict[str, Any], says: str) -> None:
    found = faults(**more)
    assert any(says in fault for fault in found), found


def test_regex_that_would_hang_others_is_quick() -> None:
    reading = read(make({"a": regex("(a+)+$", "text"), "b": regex("a", "text")}), "a" * 4000 + "!")
    assert isinstance(reading, CustomReading)
    assert "a" not in reading.fields


_FIELDS = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.builds(
        regex, st.sampled_from([r"(\d+)", "(.*)", "a(b)?", "^$", r"\S+"]), st.sampled_from(["number", "text", "bool"])
    ),
    min_size=1,
)
_PATHS = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.builds(path, st.sampled_from(["a", "a.0", "0", "0.a.b"]), st.sampled_from(["number", "text", "bool"])),
    min_size=1,
)
_ANY = st.text(st.characters(codec=None), max_size=60) | st.text('ab0123456789{}[]":,.eE-+ \n', max_size=60)
_ANY |= st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "0"]), inner, max_size=3),
).map(json.dumps)


@given(_FIELDS | _PATHS, _ANY, _ANY, st.booleans())
@settings(deadline=None)
def test_any_output_is_read_or_refused(fields: dict[str, FieldShape], text: str, later: str, twice: bool) -> None:
    made = make(fields, look="twice" if twice else "once")
    runs = [Completed("disk", "disk", 0, text), Completed("disk", "disk", 1, later)]
    try:
        reading = made.probe.parse(Outputs(*runs))
    except CannotRead:
        return
    assert set(reading.fields) <= set(made.kinds)
    for name, value in reading.fields.items():
        expected = {ValueKind.NUMBER: int | float, ValueKind.TEXT: str, ValueKind.TRUTH: bool}[made.kinds[name]]
        assert isinstance(value, expected)
