"""Every limit of a message and a view: the most that is taken, one more that is not, and Slack's words for it."""

from typing import Any

import pytest

from bot.demo.slack.refusal import SlackRefused
from bot.demo.slack.validation import characters_in, check_message, check_view


def plain(length: int) -> dict[str, Any]:
    return {"type": "plain_text", "text": "x" * length}


def mrkdwn(length: int) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": "x" * length}


def button(**more: Any) -> dict[str, Any]:
    return {"type": "button", "text": plain(4), **more}


def actions(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "actions", "elements": list(elements)}


def option(length: int = 4, value: int = 4) -> dict[str, Any]:
    return {"text": plain(length), "value": "v" * value}


def section(**parts: Any) -> dict[str, Any]:
    return {"type": "section", "text": mrkdwn(4), **parts}


def image(**more: Any) -> dict[str, Any]:
    return {"type": "image", "slack_file": {"id": "F1"}, "alt_text": "a", **more}


def table(rows: int = 1, cells: int = 1, text: str = "x", **more: Any) -> dict[str, Any]:
    return {"type": "table", "rows": [[{"type": "raw_text", "text": text}] * cells] * rows, **more}


def rich(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rich_text", "elements": list(parts)}


def rich_section(**inline: Any) -> dict[str, Any]:
    return {"type": "rich_text_section", "elements": [inline]}


BULLETS = {
    "type": "rich_text_list",
    "style": "bullet",
    "elements": [rich_section(type="text", text="one", style={"bold": True})],
}


def fewer(than: int) -> str:
    return f"must be less than {than} characters"


def no_more(than: int) -> str:
    return f"no more than {than} items allowed"


def only(words: str) -> str:
    return f"must be a valid enum value: {words}"


def button_with(**more: Any) -> list[dict[str, Any]]:
    return [actions(button(**more))]


def menu_with(**more: Any) -> list[dict[str, Any]]:
    return [actions({"type": "static_select", **more})]


def an_input(element: dict[str, Any], label: int = 4) -> list[dict[str, Any]]:
    return [{"type": "input", "label": plain(label), "element": element}]


def problems_of(refused: SlackRefused) -> list[str]:
    messages: list[str] = refused.details["response_metadata"]["messages"]
    return [message.removeprefix("[ERROR] ") for message in messages]


TAKEN: list[tuple[str, list[dict[str, Any]]]] = [
    ("fifty blocks", [{"type": "divider"}] * 50),
    ("a section of 3,000", [{"type": "section", "text": mrkdwn(3000)}]),
    ("25 buttons", [actions(*[button()] * 25)]),
    ("a button at its limits", button_with(text=plain(75), value="v" * 2000, action_id="a" * 255)),
    ("a hundred options", menu_with(options=[option()] * 100)),
    ("an image with an alt_text of 2,000", [image(alt_text="a" * 2000)]),
    ("the same action_id in two blocks", [actions(button(action_id="a"))] * 2),
    ("a table at its limits", [table(rows=20, cells=20)]),
    ("a rich list", [rich(BULLETS)]),
]


@pytest.mark.parametrize("blocks", [blocks for _, blocks in TAKEN], ids=[name for name, _ in TAKEN])
def test_what_slack_takes_is_taken(blocks: list[dict[str, Any]]) -> None:
    check_message("verdict", blocks)


REFUSED: list[tuple[list[dict[str, Any]], str, str]] = [
    ([{"type": "divider"}] * 51, no_more(50), ""),
    ([{"type": "section"}], "missing required field: text", "/0"),
    ([{"type": "section", "text": {"type": "markdown", "text": "x"}}], "unsupported type: markdown", "/0/text/type"),
    ([{"type": "section", "text": "x"}], "must provide an object", "/0/text"),
    ([{"type": "header", "text": mrkdwn(4)}], "unsupported type: mrkdwn", "/0/text/type"),
    (button_with(text=plain(76)), fewer(76), "/0/elements/0/text/text"),
    ([actions(*[button(action_id="a")] * 2)], '`action_id` "a" already exists', "/0/elements/1/action_id"),
    (button_with(style="default"), only("primary, danger"), "/0/elements/0/style"),
    (button_with(disabled=True), "invalid additional property: disabled", "/0/elements/0"),
    ([actions({"type": "plain_text_input"})], "unsupported type: plain_text_input", "/0/elements/0/type"),
    (menu_with(options=[option()] * 101), no_more(100), "/0/elements/0/options"),
    (menu_with(), "missing required field: options", "/0/elements/0"),
    ([{"type": "image", "alt_text": "a"}], "missing required field: slack_file", "/0"),
    ([{"type": "divider", "block_id": "b"}] * 2, '`block_id` "b" already exists', "/1/block_id"),
    ([{"type": "carousel"}], "unsupported type: carousel", "/0/type"),
    ([{"type": ["section"]}], "unsupported type: ['section']", "/0/type"),
    ([{}], "missing required field: type", "/0"),
    ([table(rows=101)], no_more(100), "/0/rows"),
    ([table(cells=21)], no_more(20), "/0/rows/0"),
    ([table(column_settings=[{"align": "middle"}])], only("left, center, right"), "/0/column_settings/0/align"),
    ([rich({"type": "rich_text_table", "elements": []})], "unsupported type: rich_text_table", "/0/elements/0/type"),
]  # fmt: skip


@pytest.mark.parametrize(("blocks", "says", "at"), REFUSED, ids=[f"{at} {says}" for _, says, at in REFUSED])
def test_one_more_is_refused_in_slacks_words(blocks: list[dict[str, Any]], says: str, at: str) -> None:
    with pytest.raises(SlackRefused) as refused:
        check_message("verdict", blocks)
    assert refused.value.error == "invalid_blocks"
    assert f"{says} [json-pointer:/blocks{at}]" in problems_of(refused.value)
    assert refused.value.details["errors"] == problems_of(refused.value)


def test_a_text_that_is_too_long_is_told_like_slack_tells_it() -> None:
    with pytest.raises(SlackRefused) as refused:
        check_message("verdict", [{"type": "section", "text": mrkdwn(3001)}])
    assert refused.value.body() == {
        "ok": False,
        "error": "invalid_blocks",
        "errors": [
            "failed to match all allowed schemas [json-pointer:/blocks/0/text]",
            "must be less than 3001 characters [json-pointer:/blocks/0/text/text]",
        ],
        "response_metadata": {
            "messages": [
                "[ERROR] failed to match all allowed schemas [json-pointer:/blocks/0/text]",
                "[ERROR] must be less than 3001 characters [json-pointer:/blocks/0/text/text]",
            ]
        },
    }


@pytest.mark.parametrize(
    ("text", "blocks", "error"),
    [
        ("", None, "no_text"),
        ("x" * 4001, None, "msg_too_long"),
        ("x", "not a list", "invalid_blocks_format"),
        ("x", {"type": "divider"}, "invalid_blocks_format"),
        ("x", [section(text=mrkdwn(3000))] * 5, "msg_blocks_too_long"),
        ("x", [table(), table()], "invalid_attachments"),
    ],
)
def test_whole_message_is_refused(text: str, blocks: Any, error: str) -> None:
    with pytest.raises(SlackRefused) as refused:
        check_message(text, blocks)
    assert refused.value.error == error


def test_text_of_4000_and_blocks_of_13200_characters_are_taken() -> None:
    check_message("x" * 4000, None)
    filler = [section(text=mrkdwn(3000))] * 4
    rest = 13_200 - characters_in([*filler, section(text=mrkdwn(0))])
    check_message("x", [*filler, section(text=mrkdwn(rest))])
    with pytest.raises(SlackRefused, match="msg_blocks_too_long"):
        check_message("x", [*filler, section(text=mrkdwn(rest + 1))])


def modal(**parts: Any) -> dict[str, Any]:
    return {"type": "modal", "title": plain(4), "blocks": [], **parts}


REASON_INPUT = {"type": "plain_text_input"}
LONG_INPUT = {**REASON_INPUT, "max_length": 3001}
REASON = {"type": "input", "label": plain(4), "element": REASON_INPUT}


@pytest.mark.parametrize(
    ("view", "kind"),
    [
        (modal(title=plain(24), close=plain(24), submit=plain(24)), "modal"),
        (modal(blocks=[{"type": "divider"}] * 100, private_metadata="p" * 3000, callback_id="c" * 255), "modal"),
        (modal(blocks=[REASON], submit=plain(4)), "modal"),
        ({"type": "home", "blocks": [section()]}, "home"),
    ],
)
def test_view_at_its_limits_is_taken(view: dict[str, Any], kind: str) -> None:
    check_view(view, kind)


@pytest.mark.parametrize(
    ("view", "kind", "says", "at"),
    [
        (modal(title=plain(25)), "modal", fewer(25), "/title/text"),
        (modal(private_metadata="p" * 3001), "modal", fewer(3001), "/private_metadata"),
        (modal(blocks=[{"type": "divider"}] * 101), "modal", no_more(100), "/blocks"),
        (modal(blocks=[table()]), "modal", "unsupported type: table", "/blocks/0/type"),
        (modal(blocks=an_input(LONG_INPUT)), "modal", "must be less than 3001", "/blocks/0/element/max_length"),
        (modal(blocks=[REASON]), "modal", "missing required field: submit", ""),
        ({"type": "modal", "blocks": []}, "modal", "missing required field: title", ""),
        ({"type": "home", "blocks": []}, "modal", only("modal"), "/type"),
        ({"type": "home", "blocks": [], "title": plain(4)}, "home", "invalid additional property: title", ""),
        ("not an object", "modal", "must provide an object", ""),
    ],
)  # fmt: skip
def test_view_over_its_limits_is_refused_in_slacks_words(view: Any, kind: str, says: str, at: str) -> None:
    with pytest.raises(SlackRefused) as refused:
        check_view(view, kind)
    assert refused.value.error == "invalid_arguments"
    assert f"{says} [json-pointer:/view{at}]" in problems_of(refused.value)


def test_view_over_250_kilobytes_is_too_large() -> None:
    with pytest.raises(SlackRefused, match="view_too_large"):
        check_view(modal(blocks=[section(text=mrkdwn(3000))] * 100), "modal")
