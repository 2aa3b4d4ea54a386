"""A flame graph as a page: it needs no network, runs only scripts whose hash is in its policy, and can be searched.

Source: d3-flame-graph 5.0 and d3 7.9 (assets/, with their licences). The profile's data is in a block of JSON, in which
`<` is escaped, so that no function name can end the block.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from typing import Any

from bot.domain.content_security_policy import page_policy
from bot.domain.safe_text import one_line, safe
from bot.extras.profiles.flame_tree import Node

SCRIPTS = ("d3.min.js", "d3-flamegraph.min.js", "page.js")
_OWN_STYLE = re.compile(r"textContent=`([^`]*)`")  # what d3-flame-graph adds to the page itself


def flame_page(root: Node, title: str, said: str, heat_svg: str = "", *, compares: bool = False) -> str:
    """Return the page.

    `title` and `said` are any texts; `heat_svg` is our own drawing, shown below unchanged.
    """
    scripts = [_asset(name) for name in SCRIPTS]
    styles = [_asset("page.css")]
    added = _OWN_STYLE.findall(scripts[1])
    values = root.values(compares=compares)
    data = {"tree": values, "compares": compares, "deltas": list(_deltas(values)) if compares else []}
    policy = page_policy([*styles, *added], scripts)
    return "".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            f"<title>{escape(one_line(title))}</title>\n",
            *(f"<style>{style}</style>\n" for style in styles),
            f"</head>\n<body>\n<h1>{escape(one_line(title))}</h1>\n",
            *(f"<p>{escape(line)}</p>\n" for line in safe(said).splitlines() if line.strip()),
            '<form id="form" role="search">',
            '<input id="search" type="search" aria-label="Search" placeholder="Search for a function">',
            '<button type="button" id="reset">All of it</button></form>\n',
            '<div id="details" role="status"></div>\n<div id="chart"></div>\n',
            heat_svg,
            f'<script type="application/json" id="told">{_json(data)}</script>\n',
            *(f"<script>{script}</script>\n" for script in scripts),
            "</body>\n</html>\n",
        )
    )


def _asset(name: str) -> str:
    text = files("bot.extras.profiles").joinpath("assets", name).read_text(encoding="utf-8")
    assert "</script" not in text.lower()
    return text


def _json(value: Any) -> str:
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return written.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _deltas(node: dict[str, Any]) -> Iterator[int]:
    for called in node.get("children", ()):
        yield called["delta"]
        yield from _deltas(called)
