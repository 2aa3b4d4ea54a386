"""The arguments of a Web API call, from a form, JSON or the query.

The rules: https://docs.slack.dev/apis/web-api/#post-bodies
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from bot.demo.slack.refusal import SlackRefused


def read_arguments(content_type: str, body: bytes, query: Mapping[str, str]) -> dict[str, Any]:
    """Return a call's arguments, of a body that Slack's own clients send."""
    if content_type.startswith("application/json"):
        return {**query, **json.loads(body or b"{}")}
    return {**query, **dict(parse_qsl(body.decode(), keep_blank_values=True))}


class Arguments:
    """A call's arguments, read by type."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text argument. Raises: SlackRefused, when it is not text, or missing without a default."""
        value = self.given.get(name)
        if value is None:
            if default is None:
                raise SlackRefused.arguments(f"missing required field: {name}")
            return default
        if isinstance(value, (dict, list)):
            raise SlackRefused.arguments(f"must provide a string [json-pointer:/{name}]")
        return value if isinstance(value, str) else json.dumps(value)

    def number(self, name: str) -> int:
        """Return a whole number. Raises: SlackRefused."""
        value = self.text(name)
        if not value.isascii() or not value.isdigit():
            raise SlackRefused.arguments(f"must provide an integer [json-pointer:/{name}]")
        return int(value)

    def switch(self, name: str) -> bool:
        """Return a boolean argument, written as JSON or as form text."""
        return self.text(name, "false").lower() in ("true", "1")

    def structure(self, name: str, malformed: str) -> Any:
        """Return a JSON argument, which may be encoded as text; None when it is missing.

        Raises: SlackRefused with the error `malformed`.
        """
        value = self.given.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value) if value else None
        except ValueError as error:
            raise SlackRefused(malformed) from error
