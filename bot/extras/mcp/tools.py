"""The tools of MCP: what each takes, how often it may be called, and who answers. None of them acts.

Arguments come from a language model that may have read anything. So only the names below are accepted, each value is
checked before other code sees it, and a refusal is a sentence that says what is accepted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bot.domain.allowance import Allowance
from bot.domain.contracts import Log, Seconds
from bot.domain.duration import span_words
from bot.domain.entry import is_stream
from bot.domain.errors import Refused, TooManyRequests, UsageError, ZombieError
from bot.domain.node import valid_name
from bot.domain.safe_text import one_line
from bot.domain.transitions import State

if TYPE_CHECKING:
    from bot.extras.mcp.answers import ToolAnswers

PATH = "/mcp"  # where they are served by HTTP
_ID = {"type": "string", "maxLength": 64, "description": "the incident's id, as check and incidents give it"}


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as clients see it; `inputs` is the JSON Schema of its arguments."""

    name: str
    title: str
    description: str
    inputs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool answers: the document that `--json` prints, and the same in words."""

    document: Mapping[str, Any]
    text: str


def tools(nodes_per_call: int) -> tuple[Tool, ...]:
    """Return the tools, in the order in which they are shown."""
    names = {"type": "string", "maxLength": 253, "description": "a node's name, exactly as in the inventory"}
    several = {"type": "array", "items": names, "minItems": 1, "maxItems": nodes_per_call}
    states = {"type": "string", "enum": [state.value for state in State], "description": "only these; else all"}
    return (
        Tool(
            "check",
            "Check nodes",
            "Log in to each node over SSH, read it for a few seconds, and give a verdict for each: status, cause, "
            "confidence, evidence, what was ruled out and what was not read. It only looks.",
            _object({"nodes": several}, "nodes"),
        ),
        Tool(
            "incidents",
            "List incidents",
            "The incidents on record, the newest first: id, node, state, cause and where each came from.",
            _object({"state": states}),
        ),
        Tool("incident", "Show an incident", "An incident with every entry of its record.", _object({"id": _ID}, "id")),
        Tool(
            "explain",
            "Explain a verdict",
            "The smallest single changes of a reading that would change an incident's verdict, each confirmed by "
            "evaluating again. It reads no node.",
            _object({"id": _ID}, "id"),
        ),
    )


def _object(properties: Mapping[str, Any], *required: str) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


class UnknownTool(LookupError):
    """There is no such tool."""


@dataclass(slots=True)
class Toolbox:
    """Takes calls of tools, up to a limit, and has them answered.

    Shape: `calls` counts every call of every tool, also those that are refused. The count is this program's own.
    """

    answers: ToolAnswers
    log: Log
    clock: Seconds
    calls: Allowance
    nodes_per_call: int
    _called: deque[float] = field(default_factory=deque)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What is offered."""
        return tools(self.nodes_per_call)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Answer a call.

        Raises: UnknownTool for an unknown tool; UsageError for arguments that it does not take; TooManyRequests;
        any other failure as a ZombieError.
        """
        if name not in {tool.name for tool in self.tools}:
            raise UnknownTool(f"There is no tool {one_line(name, 64)!r}.")
        try:
            self._count_call()
            answer = await self._answer_call(name, arguments)
        except Refused as no:
            self.log("mcp_call", tool=name, outcome=no.name)
            await self.answers.record_refused_call(no, f"mcp {name}")
            raise
        except ZombieError as no:
            self.log("mcp_call", tool=name, outcome=type(no).__name__)
            raise
        self.log("mcp_call", tool=name, outcome="answered")
        return answer

    async def _answer_call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        if name == "check":
            return await self.answers.check(self._nodes(_single_argument(arguments, "nodes")))
        if name == "incidents":
            return await self.answers.incidents(_state_of(_single_argument(arguments, "state")))
        incident_id = _incident_id_of(_single_argument(arguments, "id"))
        return await (self.answers.incident if name == "incident" else self.answers.explain)(incident_id)

    def _count_call(self) -> None:
        """Count a call. Raises: TooManyRequests when it exceeds the limit."""
        if wait := self.calls.count_or_wait(self._called, self.clock()):
            raise TooManyRequests(
                f"The limit is {self.calls.most} calls within {span_words(self.calls.within)}.",
                f"Call again in {span_words(wait)}. A check may name {self.nodes_per_call} nodes.",
            )

    def _nodes(self, value: Any) -> list[str]:
        if not isinstance(value, list) or not value or not all(isinstance(name, str) for name in value):
            raise UsageError("nodes is a list of node names, and not empty.", 'For example ["node-123"].')
        if len(value) > self.nodes_per_call:
            raise UsageError(
                f"{len(value)} nodes are too many for a call: the limit is {self.nodes_per_call}.",
                "Ask for fewer nodes at a time.",
            )
        return list(dict.fromkeys(valid_name(name) for name in value))


def _single_argument(arguments: Mapping[str, Any], name: str) -> Any:
    """The only argument that a tool takes. Raises: UsageError when there are others."""
    if others := [one_line(str(other), 40) for other in arguments if other != name]:
        raise UsageError(f"There is no argument {', '.join(others[:3])}.", f"This tool takes {name} alone.")
    return arguments.get(name)


def _state_of(value: Any) -> State | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in {state.value for state in State}:
        raise UsageError(
            f"There is no state {one_line(str(value), 40)!r}.",
            f"There are: {', '.join(state.value for state in State)}.",
        )
    return State(value)


def _incident_id_of(value: Any) -> str:
    if not isinstance(value, str) or not is_stream(value):
        raise UsageError(f"{one_line(str(value), 40)!r} is not an incident's id.", "The tool incidents lists them.")
    return value
