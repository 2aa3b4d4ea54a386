"""Every key of a TOML file has the line on which its header or its pair begins."""

import tomllib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.errors import InventoryError
from bot.domain.problems import Problems
from bot.domain.toml_text import TomlText, read_toml

WHOLE = '''\
# a comment with [a.table] and key = 1
top = 1 # and "this"
"quoted.key" = "a # no comment, no = key"
dotted.key.'with space' = """
[not.a.table] \\"""
x = 1 ""quotes"""
literal = \'\'\'
[nor.this]\'\'\'

[ssh] # comment
labels = { a = "1", b.c = [1, 2] }
list = [
  1, # ]
  [ 2, { deep = 3 } ],
]

[[route]]
match = 1
[route.sub]
key = 2
[[ "route" ]]
match = 2
[nodes."a.b"]
since = 2020-01-01 10:00:00
'''


def read(text: str) -> TomlText:
    return read_toml(text, Problems("file.toml", InventoryError))


def test_every_key_is_found_on_its_line() -> None:
    lines = {path: line for path, line in read(WHOLE).lines.items() if len(path) != 2 or path[0] != "dotted"}
    assert lines == {
        ("top",): 2,
        ("quoted.key",): 3,
        ("dotted",): 4,
        ("dotted", "key", "with space"): 4,
        ("literal",): 7,
        ("ssh",): 10,
        ("ssh", "labels"): 11,
        ("ssh", "labels", "a"): 11,
        ("ssh", "labels", "b"): 11,
        ("ssh", "labels", "b", "c"): 11,
        ("ssh", "labels", "b", "c", 0): 11,
        ("ssh", "labels", "b", "c", 1): 11,
        ("ssh", "list"): 12,
        ("ssh", "list", 0): 12,
        ("ssh", "list", 1): 12,
        ("ssh", "list", 1, 0): 12,
        ("ssh", "list", 1, 1): 12,
        ("ssh", "list", 1, 1, "deep"): 12,
        ("route",): 17,
        ("route", 0): 17,
        ("route", 0, "match"): 18,
        ("route", 0, "sub"): 19,
        ("route", 0, "sub", "key"): 20,
        ("route", 1): 21,
        ("route", 1, "match"): 22,
        ("nodes",): 23,
        ("nodes", "a.b"): 23,
        ("nodes", "a.b", "since"): 24,
    }


def test_what_has_no_line_has_the_line_of_what_is_around_it() -> None:
    assert read(WHOLE).line_of("ssh", "labels", "gone", "deeper") == 11
    assert read(WHOLE).line_of("gone") == 0


def paths(data: Any, at: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return {at} - {()} | {path for key, value in items for path in paths(value, (*at, key))}


_KEY = st.text("ab_-1", min_size=1, max_size=3) | st.sampled_from(['"a.b"', "'c d'", '"\\"#"', '""'])
_SCALAR = st.sampled_from(
    [
        "1",
        "-1.5e3",
        "true",
        "inf",
        "2020-01-01T00:00:00Z",
        '"x"',
        '"\\\\"',
        "'\\'",
        '"]"',
        "'}'",
        '"""\n"" \\\n"""',
        '"""a"""""',
        "'''a\n''b'''''",
        '""""""',
        "''",
        '"#"',
        '"[a]\\n"',
    ]
)


def _written(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    gap = st.sampled_from(["", " ", "\n", " # ] } =\n"])
    array = st.builds(lambda items, g: f"[{g}{f',{g}'.join(items)}{g}]", st.lists(inner, max_size=3), gap)
    pair = st.builds(lambda key, value: f"{key} = {value}", _KEY, inner)
    return array | st.builds(lambda pairs: f"{{ {', '.join(pairs)} }}", st.lists(pair, max_size=2))


_VALUE = st.recursive(_SCALAR, _written, max_leaves=6)
_DOTTED = st.lists(_KEY, min_size=1, max_size=3).map(".".join)
_LINE = (
    st.builds(lambda key, value: f"{key} = {value}", _DOTTED, _VALUE)
    | _DOTTED.map(lambda key: f"[{key}]")
    | _DOTTED.map(lambda key: f"[[ {key} ]]")
    | st.sampled_from(["", "  # note [x]"])
)


@given(st.lists(_LINE, max_size=8).map("\n".join), st.sampled_from(["\n", "\r\n"]))
@settings(deadline=None)
def test_whatever_is_toml_has_a_line_for_each_of_its_keys(text: str, line_end: str) -> None:
    text = text.replace("\n", line_end)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    lines = read(text).lines
    assert set(lines) == paths(data)
    assert all(0 < line <= text.count("\n") + 1 for line in lines.values())
