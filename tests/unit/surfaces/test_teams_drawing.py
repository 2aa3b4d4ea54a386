"""Cards keep the limits of Teams, and nothing that a node said is obeyed by it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.chat.document import (
    Block,
    BlockGroup,
    Button,
    ButtonRow,
    Dialog,
    Document,
    Fold,
    IfRoom,
    Lines,
    Listing,
    Menu,
    Paragraph,
    Record,
    SmallPrint,
    Table,
    Title,
    bullets,
    folded,
    line,
    paged,
)
from bot.chat.requests import VERBS, help_document
from bot.domain.entry import NotedHead
from bot.surfaces.slack import drawing as slack
from bot.surfaces.teams import drawing as teams
from bot.surfaces.teams.drawing import added, card, dialog_task, draw, fits, message_text, named, people_in, with_home
from bot.view.standing import PICK
from bot.view.words import Bold, Channel, Code, Group, Instant, Link, Person
from tests.known import known
from tests.slack.drawn import objects

WHO = "teams:0b0b0b0b-0000-4000-8000-000000000002/b0b00000-0000-4000-8000-000000000004"
TYPES = {"RichTextBlock", "Container", "ActionSet", "Table", "Input.Text", "Input.ChoiceSet"}
ANY = st.text(max_size=300)


def every_block(words: str) -> tuple[Block, ...]:
    options = ((words, words), ("b", "2"))
    return (
        Title(words),
        Paragraph(words),
        line(
            words,
            Bold(words),
            Code(words),
            Channel(words),
            Group(words),
            Person(words),
            Link(words, "https://a.example"),
        ),
        Listing(((words,),), words, ordered=True),
        BlockGroup((line(words), bullets([(words, words)]))),
        SmallPrint((words, words)),
        Lines((words, words)),
        Fold(words, words),
        Table((words, words), [(words, words)], words, words),
        ButtonRow((Button(words, "approve", words, "primary"), Menu("pick", words, options)), "row"),
        Record(words),
        IfRoom(bullets([(words, words)])),
    )


@given(ANY)
@settings(max_examples=100, deadline=None)
def test_no_words_are_markup_wherever_they_stand(words: str) -> None:
    hostile = f"[x](https://evil.example) <at>all</at> {{{{DATE(2026-11-28T09:00:00Z,SHORT)}}}} {words}"
    message = draw(Document(hostile, every_block(hostile)))
    content = json.loads(json.dumps(card(message.blocks)["content"]))
    for element in objects(content["body"]):
        kind = str(element.get("type", ""))
        assert kind in TYPES | {"TextRun", "TableRow", "TableCell", "", "task/fetch"} or kind.startswith("Action.")
        if kind == "TextRun":
            assert not any(live in element["text"] for live in ("](", "https://", "<at>", "</at>", "{{DATE(")), element
        if kind == "Action.OpenUrl":
            assert element["url"] == "https://a.example"
    assert not people_in(message.blocks), "nobody's words are taken for a person"


def test_limits_are_kept_and_what_is_left_out_is_said() -> None:
    rows = [(f"node-{number}", "x" * 110) for number in range(1000)]
    table = Table(("node", "why"), rows, "many", "/zombie status")
    message = draw(Document("many", (Title("many"), table, IfRoom(bullets([("a", "b" * 5000)])), Paragraph("last"))))
    sent = json.dumps(card(message.blocks), ensure_ascii=False)
    assert len(sent.encode("utf-16-le")) < 100 * 1024
    assert "last" in sent
    assert "more: /zombie status" in sent
    assert not fits([table])
    assert fits([Paragraph("x")])
    blocks = [block for number in range(60) for block in folded(f"fold {number}", "y" * 900)]
    pages = list(paged(blocks, fits))
    assert [block for page in pages for block in page] == blocks
    assert len(pages) > 1
    assert all(fits(page) for page in pages)


@pytest.mark.parametrize("chat", [teams, slack])
def test_table_that_fits_is_whole_and_one_that_does_not_says_how_many_rows_are_missing(chat: Any) -> None:
    for count in (*range(20, 101, 10), 41, 42, 61, 62):
        rows = [(f"node-{number:03}.example", "1", "7k3m9x2qpvab", "10.0.0.7:22", "0" * 36) for number in range(count)]
        blocks = (Title("A wave"), Paragraph("y" * 500), Table(("node", "plan", "incident", "address", "boot"), rows))
        drawn = json.dumps(chat.draw(Document("A wave", blocks)).blocks)
        missing = sum(row[0] not in drawn for row in rows)
        assert missing == 0 or not chat.fits(blocks)
        assert (f"And {missing} more" in drawn) == (missing > 0)


def test_head_as_it_is_copied_from_a_card_is_one() -> None:
    head = "123:" + "9af3" * 16
    ((shown,),) = (block["inlines"] for block in draw(Document("", (Record(head),))).blocks)
    assert str(NotedHead.of(shown["text"].removeprefix("record "))) == head


def test_reply_grows_once_and_only_while_there_is_room() -> None:
    content = {"text": "details", "blocks": list(draw(Document("", (Paragraph("a"),))).blocks)}
    more = list(folded("Before and after", "20 → 0"))
    grown = known(added(content, more))
    again = known(added({"text": "details", "blocks": list(grown.blocks)}, more))
    assert again.blocks == grown.blocks
    assert added(content, [Lines(("x" * 50_000,))]) is None


def test_buttons_bring_back_what_they_mean_and_a_phone_shows_them_whole() -> None:
    row = ButtonRow((Button("Approve", "approve", "i1", "primary"), Button("Decline", "decline", "i1")), "decide-i1")
    wide = ButtonRow(
        (Button("Report", "report", "i1"), Button("Undo: bring back ecs.service and its timer", "undo", "i1"))
    )
    first, *more = draw(Document("", (row, wide))).blocks
    approve, decline = first["actions"]
    assert approve["data"] == {"a": "approve", "v": "i1", "b": "decide-i1", "msteams": {"type": "task/fetch"}}
    assert (approve["style"], decline.get("style")) == ("positive", None)
    assert [[each["title"] for each in one["actions"]] for one in more] == [
        ["Report"],
        ["Undo: bring back ecs.service and its timer"],
    ]
    report = more[0]["actions"][0]
    assert (report["type"], report["verb"]) == ("Action.Execute", "zombie"), "it opens no dialog"
    home = with_home((first,), "sealed")
    assert [each["data"]["h"] for each in home[0]["actions"]] == ["sealed", "sealed"]


def test_menu_brings_back_its_choice() -> None:
    choice, buttons = draw(
        Document("", (ButtonRow((Menu(PICK, "Which node is it?", (("n1", "n1"),)),), "pick-i1"),))
    ).blocks
    assert choice["type"] == "Input.ChoiceSet"
    assert buttons["actions"][0]["data"] == {"a": PICK, "b": "pick-i1", "p": choice["id"]}


def test_dialog_asks_for_a_reason_or_cannot_be_sent() -> None:
    task = dialog_task(Dialog("Approve", "Approve", (Paragraph("what"),), "Why now"), "sealed", "click-1")
    content = task["value"]["card"]["content"]
    (asked,) = [each for each in content["body"] if each["type"] == "Input.Text"]
    assert asked["isRequired"] is True
    assert content["actions"][0]["data"] == {"sealed": "sealed", "opened": "click-1"}
    refused = dialog_task(Dialog("Approve", "Approve", (Paragraph("no"),)), "sealed", "click-1")["value"]["card"]
    assert "actions" not in refused["content"]
    assert not [each for each in refused["content"]["body"] if each["type"] == "Input.Text"]


def test_people_stand_by_name_and_instants_in_utc() -> None:
    at = datetime(2026, 11, 28, 9, 30, tzinfo=UTC)
    message = draw(Document((Person(WHO), " at ", Instant(at)), (line("By ", Person(WHO), " at ", Instant(at)),)))
    (user,) = people_in(message.blocks)
    shown = json.dumps(named(message.blocks, {user: "Bob [x](https://evil.example)"}), ensure_ascii=False)
    assert "Bob [x]" in shown
    assert "](" not in shown
    assert '"person"' not in shown
    assert "09:30 UTC" in shown
    assert '"person"' not in json.dumps(named(message.blocks, {}))


def test_team_of_approvers_is_told_in_words() -> None:
    message = draw(Document("", (line("Who may approve: ", Group("teams:19:a1@thread.tacv2")),)))
    (team,) = people_in(message.blocks)
    for names, says in (
        ({team: "everybody in the team SRE"}, "everybody in the team SRE"),
        ({team: ""}, "everybody in the approvers' team ([policy] approver_groups)"),
    ):
        shown = json.dumps(named(message.blocks, names))
        assert says in shown
        assert "thread.tacv2" not in shown


def test_help_and_home_say_what_people_type_here() -> None:
    message = draw(help_document())
    said = message_text(message)
    assert "@zombie check NODE" in said
    assert "@zombie brake on|off" in said
    assert not any(
        run["text"].startswith("/zombie") for run in objects(list(message.blocks)) if run.get("type") == "TextRun"
    )


def test_manifest_asks_for_no_more_than_it_says() -> None:
    manifest = json.loads((Path(__file__).parents[3] / "docs/teams-manifest.json").read_text())
    assert not {"webApplicationInfo", "authorization", "composeExtensions", "supportsChannelFeatures"} & manifest.keys()
    (bot,) = manifest["bots"]
    assert bot["supportsFiles"] is False
    commands = [each["title"] for listed in bot["commandLists"] for each in listed["commands"]]
    assert set(commands) <= {*VERBS, "home"}
    assert len(commands) <= 10
    # The lengths that Microsoft's schema v1.19 gives; the whole of it needs the network.
    held = {"name": {"short": 30, "full": 100}, "description": {"short": 80, "full": 4000}, "developer": {"name": 32}}
    assert all(len(manifest[key][part]) <= most for key, parts in held.items() for part, most in parts.items())
    assert all(
        len(each["title"]) <= 32 and len(each["description"]) <= 128 for each in bot["commandLists"][0]["commands"]
    )
