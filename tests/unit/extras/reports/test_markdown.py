"""A report as Markdown: the sections that people expect, and words that never become markup."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.extras.reports.markdown import markdown
from bot.extras.reports.report import whole_report
from bot.surfaces.markdown_text import escape_markdown
from tests.unit.extras.reports.report_data import of, told_all

SIGN = r"[!-/:-@\[-`{-~]"  # CommonMark: a backslash before one of these is not shown
HOSTILE = (
    "<script>alert(1)</script>",
    "[x](javascript:alert(1)) ![y](http://evil/p.png)",
    "```\n# heading\n```",
    "a | b | c",
    "https://evil.example www.evil.example",
    "@channel @here #12",
    "**bold** __bold__ ~~gone~~ `code`",
    "&lt;b&gt; &#60;b&#62;",
    "- item",
    "1. item",
    "===",
    "> quoted",
)


def shown(text: str) -> str:
    """What a reader sees of escaped text."""
    return re.sub(rf"\\({SIGN})", r"\1", text).replace("\u2060", "")


def test_has_the_sections_of_a_whole_report_document_in_their_order() -> None:
    text = markdown(whole_report(of(State.RESOLVED)))
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert titles == [
        "Summary",
        "Impact",
        "What was done",
        "Before and after",
        "Timeline",
        "Action items",
        "Approvals",
        "Evidence",
        "Not read",
        "Ruled out",
        "The node's own lines",
        "Record",
    ]
    assert "- [ ] **Lasting fix**: Take the agent out of the image." in text
    assert "- **Worked**: disable ecs.service: done, and proved after 2 s." in text
    assert "| memory cgroups | 68,700 | 260 |" in text


@pytest.mark.parametrize("state", State)
def test_every_state_has_its_document(state: State) -> None:
    text = markdown(whole_report(of(state)))
    assert text.startswith("# ")
    assert "## Action items" in text


@given(text=st.text(max_size=60))
@example(HOSTILE[0])
@example(HOSTILE[1])
@example(HOSTILE[3])
@example(HOSTILE[4])
@example(HOSTILE[6])
@example(HOSTILE[7])
@example(HOSTILE[8])
@example(HOSTILE[9])
@example(HOSTILE[10])
@example(HOSTILE[11])
def test_inert_text_is_shown_as_it_stands_and_begins_nothing(text: str) -> None:
    made = escape_markdown(text)
    assert shown(made) == one_line(text, 10_000).replace("\u2060", "")
    bare = re.sub(rf"\\{SIGN}", "", made)  # what is left could still mean something
    assert not re.search(r"[`*\[\]<|&~$#\\]", bare)
    assert "://" not in bare
    assert not re.search(r"(?i)www\.\w", bare)
    assert not re.search(r"@(?!\u2060)", made)
    assert not re.match(r"(\d{1,9}[.)](\s|$)|[-+](\s|$)|[=>])", made)


@pytest.mark.parametrize("words", HOSTILE)
@pytest.mark.parametrize("cured", [True, False])
def test_no_words_change_the_blocks_of_the_document(words: str, cured: bool) -> None:
    def blocks(text: str) -> list[str]:
        """Each line by what kind of block it is; lines of fences, whose number the words decide, left out."""
        kinds, fence = [], ""
        for line in text.splitlines():
            if fence:
                fence = "" if line.strip() == fence else fence
            elif found := re.match(r" *(`{3,})text$", line):
                fence = found[1]
                kinds.append("fence")
            else:
                cells = len(re.findall(r"(?<!\\)\|", line))
                begins = re.match(r"#+ |- (\[ \] )?|[|]|", line)
                kinds.append(f"{begins[0] if begins else ''}{cells}")
        assert not fence, "a fence was left open"
        return kinds

    assert blocks(markdown(whole_report(told_all(words, cured)))) == blocks(
        markdown(whole_report(told_all("az", cured)))
    )
