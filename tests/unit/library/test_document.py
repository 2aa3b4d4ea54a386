"""A YAML file is plain data with lines, or an error with one; whatever it holds, nothing is built from it."""

import contextlib
import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.errors import PlaybookError
from bot.domain.problems import Problems
from bot.library.document import Document, read_document

LOADERS = [yaml.SafeLoader, *([yaml.CSafeLoader] if yaml.__with_libyaml__ else [])]


def read(text: str, loader: Any = yaml.SafeLoader) -> Document:
    return read_document(text, Problems("book.yaml", PlaybookError), loader)


@pytest.mark.parametrize("loader", LOADERS)
def test_every_value_has_its_line(loader: Any) -> None:
    document = read("a: 1\n# note\nb: [x, 2,\n  'y']\nc:\n  d: >\n    one\n    two\n  e:\n", loader)
    assert document.data == {"a": 1, "b": ["x", 2, "y"], "c": {"d": "one two\n", "e": None}}
    assert dict(document.lines) == {
        (): 1,
        ("a",): 1,
        ("b",): 3,
        ("b", 0): 3,
        ("b", 1): 3,
        ("b", 2): 4,
        ("c",): 5,
        ("c", "d"): 6,
        ("c", "e"): 9,
    }
    assert document.line_of("c", "gone", "deeper") == 5


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ("0", 0),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("null", None),
        ("~", None),
        ("", None),
        ("'5'", "5"),
        ('"true"', "true"),
        ("yes", "yes"),
        ("off", "off"),
        ("no", "no"),
        ("0755", "0755"),
        ("1_000", "1_000"),
        ("12:30:00", "12:30:00"),
        ("2026-01-01", "2026-01-01"),
        ("0x10", "0x10"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("=", "="),
    ],
)
def test_only_what_looks_like_a_number_to_everybody_is_one(written: str, value: object, loader: Any) -> None:
    read_value = read(f"a: {written}", loader).data["a"]
    assert (read_value, type(read_value)) == (value, type(value))


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\nb: 2\na: 3", '3: "a" is given twice; the first time in line 1'),
        ("a: {b: 1, b: 2}", '1: "b" is given twice; the first time in line 1'),
        ("a: 1\n'a': 2", '2: "a" is given twice; the first time in line 1'),
        ("a: &x 1\nb: *x", "1: anchors (&name) are not supported"),
        ("\na: *x", "2: aliases (*name) are not supported"),
        ("<<: *x", "1: aliases (*name) are not supported"),
        ("a: !!python/object/apply:os.system [id]", "1: tags (!name) are not supported"),
        ("!!map {a: 1}", "1: tags (!name) are not supported"),
        ("a: !!str 5", "1: tags (!name) are not supported"),
        ("%TAG ! tag:x,2026:\n---\na: !y 5", "3: tags (!name) are not supported"),
        ("a: 1\n---\nb: 2", "2: a second document begins here"),
        ("? [a, b]\n: c", "1: a key should be a single word"),
        ("? {a: b}\n: c", "1: a key should be a single word"),
        ("'': c", "1: a key should be a single word"),
        ("a: b: c", "1: not YAML: mapping values are not allowed"),
        ("a:\n\t- 1", "2: not YAML: found character"),
        ("a: [1,\n2", "2: not YAML:"),
        (
            "a: 'x\ny",
            "2: not YAML: found unexpected end of stream (while scanning a quoted scalar that begins in line 1)",
        ),
        ("a: \x00", "1: contains a character that YAML does not allow"),
        ("a: 1\nb: \x1b[31m", "2: contains a character that YAML does not allow"),
        ('a: "\\e[31m"', "1: the text contains control characters"),
        ('"\\u202ea": 1', "1: the text contains control characters"),
        ("a: 1e999", "1: 1e999 is too large a number"),
        ("a: " + "9" * 5000, "1: 99999999999999999999999999"),
        ("[" * 10_000, "1: nested too deeply"),
        ("{a: " * 10_000, "1: nested too deeply"),
        ("- " * 10_000, "1: nested too deeply"),
        ("".join(f"{' ' * n}a:\n" for n in range(300)), "17: nested too deeply"),
        ("- a\n" * 30_000, "20000: more than 20000 values"),
    ],
)
def test_what_is_more_than_plain_data_is_refused_with_its_line(text: str, says: str, loader: Any) -> None:
    with pytest.raises(PlaybookError) as refused:
        read(text, loader)
    assert str(refused.value).startswith(f"book.yaml:{says}")


def test_bombs_end_at_once() -> None:
    began = time.process_time()
    for bomb in ("[" * 250_000, "{a: " * 60_000, "a: &a [x]\n" + "b: [*a, *a]\n" * 20_000, "- " * 120_000):
        for loader in LOADERS:
            with pytest.raises(PlaybookError):
                read(bomb, loader)
    assert time.process_time() - began < 5


_PLAIN = st.recursive(
    st.integers(-(10**20), 10**20) | st.booleans() | st.none() | st.text("ab: -#'\"{}[]\n,!&*5", max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc-_ ", min_size=1, max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(_PLAIN, st.booleans(), st.sampled_from(LOADERS))
@settings(deadline=None)
def test_plain_data_comes_back_as_it_was_written(data: Any, flow: bool, loader: Any) -> None:
    text = yaml.safe_dump(data, default_flow_style=flow, allow_unicode=True)
    assert read(text, loader).data == data


@given(st.text("ab:- \n\t#'\"{}[],!&*|>%?@\\x\x85é‮", max_size=60), st.sampled_from(LOADERS))
@settings(deadline=None)
def test_any_text_is_read_or_refused(text: str, loader: Any) -> None:
    with contextlib.suppress(PlaybookError):
        read(text, loader)


def test_text_with_a_colon_is_told_to_need_quotes() -> None:
    with pytest.raises(PlaybookError, match="text with a colon and a blank in it needs quotes"):
        read_document("title: Is it full: yes or no", Problems("book.yaml", PlaybookError))
