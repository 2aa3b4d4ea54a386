"""The page of a report: whole in every state, and nothing that anybody wrote is ever markup in it."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.domain.events import Compared, Resolved
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.extras.reports.page import page
from bot.extras.reports.report import whole_report
from bot.extras.reports.report_data import StoredAnswer
from bot.seats import Picture
from tests.examples import up_to
from tests.record.incidents import APPROVER, PROPOSED, VERDICT, WAYS
from tests.unit.extras.reports.report_data import of, report_data, told_all

HOSTILE = (
    "<script>alert(1)</script>",
    "</pre></style><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x="',
    "'><svg/onload=alert(1)>",
    "<!--<base href=//evil>-->",
    "]]><a href='javascript:alert(1)'>x</a>",
    "\x1b[2J\u202eevil\x00\ud800",
    "&lt;b&gt;&#60;script&#62;",
)
PIXEL = bytes.fromhex("89504e470d0a1a0a")


class Skeleton(HTMLParser):
    """The elements of a page with their attributes, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.odd: list[str] = []
        self.words = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(name for name, _ in attrs)))

    def handle_comment(self, data: str) -> None:
        self.odd.append(data)

    def handle_pi(self, data: str) -> None:
        self.odd.append(data)

    def handle_data(self, data: str) -> None:
        self.words += data


def drawn(words: str, cured: bool = True) -> str:
    return page(whole_report(told_all(words, cured)))


@pytest.mark.parametrize("state", State)
def test_every_state_has_its_page_with_headline_timeline_and_record(state: State) -> None:
    text = page(whole_report(of(state)))
    for title in ("Summary", "Timeline", "Record"):
        assert f"<h2>{title}</h2>" in text
    assert Skeleton(text).words.count("AlertReceived") == 1
    assert ("It is not over" in text) is (of(state).ended_at is None)


def test_page_tells_verdict_approval_commands_proofs_and_the_record() -> None:
    text = html.unescape(page(whole_report(of(State.RESOLVED, head="12:" + "3f" * 16, why=("If x were 1: healthy.",)))))
    for words in (
        VERDICT.summary,
        *(item.says for item in VERDICT.evidence),
        "memory\t4\t68700\t1",
        "If x were 1: healthy.",
        "0.0 % is stolen",
        "not installed",
        APPROVER,
        "it is drained",
        PROPOSED.digest,
        *(command for step in PROPOSED.plan.steps for command in step.commands),
        "Done, and proved after 2 s.",
        "68,700",
        "node-health 3",
        "zombie audit verify --head 12:" + "3f" * 16,
        '<time datetime="2026-11-21T09:30:01Z">2026-11-21 09:30:01 UTC</time>',
    ):
        assert words in text, words


def test_policy_forbids_all_but_the_page_s_own_style_and_script() -> None:
    text = drawn("x")
    policy = html.unescape(re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1])  # type: ignore[index]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    for name, tag in (("style-src", "style"), ("script-src", "script")):
        (inside,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert rules[name] == f"'sha256-{base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()}'"
    assert (rules["default-src"], rules["img-src"], rules["base-uri"], rules["form-action"]) == (
        "'none'",
        "data:",
        "'none'",
        "'none'",
    )
    assert text.index("Content-Security-Policy") < text.index("<title>"), "what stands before it is not held to it"


@settings(deadline=timedelta(seconds=5), max_examples=up_to(40))
@given(words=st.text(min_size=1, max_size=40))
@example(words=HOSTILE[0])
@example(words=HOSTILE[1])
@example(words=HOSTILE[2])
@example(words=HOSTILE[3])
@example(words=HOSTILE[4])
@example(words=HOSTILE[5])
@example(words=HOSTILE[6])
@example(words=HOSTILE[7])
def test_no_words_change_the_elements_of_the_page(words: str) -> None:
    # A letter on each side: an empty text would leave its paragraph out, which is no markup. A word before them: `a:z`
    # at the beginning of a reason is drawn as a person.
    hostile, plain = drawn(f"a b{words}z"), drawn("a bz")
    told, harmless = Skeleton(hostile), Skeleton(plain)
    assert (told.elements, told.odd) == (harmless.elements, [])
    assert one_line(f"a b{words}z", 300) in told.words
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", hostile)
    hostile.encode()  # no half of a pair is left


@pytest.mark.parametrize("words", HOSTILE)
def test_hostile_words_stay_words_where_the_cure_failed_too(words: str) -> None:
    assert Skeleton(drawn(words, cured=False)).elements == Skeleton(drawn("az", cured=False)).elements


def test_pictures_stand_in_the_page_and_say_in_words_what_they_show() -> None:
    text = page(whole_report(of(State.TRIAGED, pictures=(Picture(PIXEL, 'core 39: <100 %> "kernel"'),))))
    assert f'src="data:image/png;base64,{base64.b64encode(PIXEL).decode()}"' in text
    assert 'alt="core 39: &lt;100 %&gt; &quot;kernel&quot;"' in text


def test_what_was_kept_before_the_reboot_is_told_line_by_line() -> None:
    text = page(whole_report(of(State.RESOLVED, before_reboot=(StoredAnswer("kernel log", "[1.0] one\n[2.0] two"),))))
    assert "<p>kernel log</p><pre>[1.0] one\n[2.0] two</pre>" in text


def test_what_people_ask_first_stands_open_and_what_only_proves_it_is_folded_below() -> None:
    text = drawn("words")
    opened, _, folded = text.partition("<details>")
    assert re.findall(r"<h2>(.*?)</h2>", opened) == [
        "Summary",
        "Impact",
        "What was done",
        "Before and after",
        "Timeline",
        "Action items",
        "Approvals",
        "Evidence",
        "Profiles",
        "Undecided",
        "Not read",
    ]
    titles = ["Ruled out", "Why this verdict", "The node&#x27;s own lines", "Kept before the reboot", "Record"]
    assert re.findall(r"<summary><h2>(.*?)</h2></summary>", f"<details>{folded}") == titles
    assert "<pre>" not in opened.split('id="evidence"')[1]


def test_people_have_their_names_and_the_record_says_who_that_is() -> None:
    names = {APPROVER: 'Bob <b>"O"</b>'}
    text = page(whole_report(of(State.RESOLVED, names=names)))
    story, record = text.split("<summary><h2>Record</h2>")
    assert "Approved by <b>Bob &lt;b&gt;&quot;O&quot;&lt;/b&gt;</b>" in story
    assert APPROVER not in story
    assert f"<td>Bob &lt;b&gt;&quot;O&quot;&lt;/b&gt;</td><td>{APPROVER}</td>" in record


def test_name_is_of_the_person_alone_whose_id_it_is() -> None:
    by = "slack:T024/U123"
    told = of(State.RESOLVED, names={by: "Bob"}, why=(f"{by} and {by}4, ({by}), x{by} {by}/1.",))
    text = page(whole_report(told))
    assert f"Bob and {by}4, (Bob), x{by} Bob/1." in text


def test_proof_after_a_reboot_counts_from_there_on() -> None:
    rows = (Compared("network device resets", "20", "0"), Compared("boot", "3b1c", "77aa"))
    told = report_data((*WAYS[State.VERIFYING], Resolved("It is cured.", rows)))
    text = page(whole_report(told))
    assert '<td data-head="before">20</td><td data-head="after">none since the reboot, 10 min</td>' in text
    stayed = replace(rows[1], after="3b1c")
    same = page(whole_report(report_data((*WAYS[State.VERIFYING], Resolved("It is cured.", (rows[0], stayed))))))
    assert '<td data-head="before">20</td><td data-head="after">0</td>' in same


def test_broken_record_is_said_first() -> None:
    text = page(whole_report(of(State.RESOLVED, broken="entry 3 was changed")))
    assert text.index("entry 3 was changed") < text.index("<h2>Evidence</h2>")


def test_entry_of_a_newer_program_is_told_and_not_left_out() -> None:
    told = of(State.TRIAGED)
    newer = replace(told.entries[-1], kind="TimeTravelled", seq=9)
    text = page(whole_report(replace(told, entries=(*told.entries, newer))))
    assert "TimeTravelled" in text
    assert "only a newer program knows this" in text
    assert len(WAYS[State.TRIAGED]) + 1 == text.split("<h2>Timeline</h2>")[1].split("</table>")[0].count("<tr>") - 1
