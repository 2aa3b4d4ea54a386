"""An error answer of Slack: an error string with details."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def problem(says: str, at: str) -> str:
    """Return a problem in Slack's format.

    Example: `problem("must provide a string", "/blocks/0") == "must provide a string [json-pointer:/blocks/0]"`
    """
    return f"{says} [json-pointer:{at}]"


class SlackRefused(Exception):
    """A call was understood and refused; Slack answers 200 with `{"ok": false, "error": …}`.

    Example: `SlackRefused("no_text").body() == {"ok": False, "error": "no_text"}`
    """

    def __init__(self, error: str, **details: Any) -> None:
        super().__init__(error)
        self.error = error
        self.details = details

    @classmethod
    def listing(cls, error: str, problems: Iterable[str]) -> SlackRefused:
        """Refuse with the problems listed twice, as Slack does for blocks: in `errors` and in the metadata."""
        found = list(problems)
        return cls(error, errors=found, response_metadata={"messages": [f"[ERROR] {each}" for each in found]})

    @classmethod
    def arguments(cls, *problems: str) -> SlackRefused:
        """Refuse with `invalid_arguments`, with the problems in the metadata."""
        return cls("invalid_arguments", response_metadata={"messages": [f"[ERROR] {each}" for each in problems]})

    def body(self) -> dict[str, Any]:
        """Return what Slack answers."""
        return {"ok": False, "error": self.error, **self.details}
