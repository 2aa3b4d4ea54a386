"""Block Kit's rules for rich text: sections, lists, quotes, preformatted text and their contents.

Defined in https://docs.slack.dev/reference/block-kit/blocks/rich-text-block
"""

from __future__ import annotations

from bot.demo.slack.shapes import anything, boolean, by_type, integer, items, one_of, shape, string

ELEMENTS = 10_000  # Slack documents no limit; the size of the whole message limits it

_STYLES = ("bold", "italic", "strike", "code", "underline", "highlight", "client_highlight", "unlink")
_STYLE = shape({}, dict.fromkeys(_STYLES, boolean))
_STYLED = {"style": _STYLE}

INLINE = by_type(
    {
        "text": shape({"type": anything, "text": string(13_200, 1)}, _STYLED),
        "link": shape(
            {"type": anything, "url": string(3000, 1)}, {"text": string(13_200), "unsafe": boolean, **_STYLED}
        ),
        "emoji": shape({"type": anything, "name": string(255, 1)}, {"unicode": string(255), **_STYLED}),
        "user": shape({"type": anything, "user_id": string(255, 1)}, _STYLED),
        "usergroup": shape({"type": anything, "usergroup_id": string(255, 1)}, _STYLED),
        "channel": shape({"type": anything, "channel_id": string(255, 1)}, _STYLED),
        "broadcast": shape({"type": anything, "range": one_of("here", "channel", "everyone")}, _STYLED),
        "color": shape({"type": anything, "value": string(255, 1)}, _STYLED),
        "date": shape(
            {"type": anything, "timestamp": integer(0, 2**53), "format": string(255, 1)},
            {"url": string(3000), "fallback": string(3000), **_STYLED},
        ),
    }
)

_BORDER = {"border": integer(0, 1)}
SECTION = shape({"type": anything, "elements": items(INLINE, ELEMENTS, 0)})
PREFORMATTED = shape({"type": anything, "elements": items(INLINE, ELEMENTS, 0)}, {**_BORDER, "language": string(255)})
QUOTE = shape({"type": anything, "elements": items(INLINE, ELEMENTS, 0)}, _BORDER)
LIST = shape(
    {
        "type": anything,
        "style": one_of("bullet", "ordered"),
        "elements": items(by_type({"rich_text_section": SECTION}), ELEMENTS),
    },
    {"indent": integer(0, 8), "offset": integer(0, 10_000), **_BORDER},
)

PART = by_type(
    {
        "rich_text_section": SECTION,
        "rich_text_preformatted": PREFORMATTED,
        "rich_text_quote": QUOTE,
        "rich_text_list": LIST,
    }
)
RICH_TEXT = shape({"type": anything, "elements": items(PART, ELEMENTS, 0)}, {"block_id": string(255)})
