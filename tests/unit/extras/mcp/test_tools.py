"""The tools that MCP offers: what they take, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from bot.domain.allowance import Allowance
from bot.domain.errors import Refused, TooManyRequests, ZombieError
from bot.domain.node import is_name
from bot.domain.safe_text import safe
from bot.domain.transitions import State
from bot.extras.mcp.tools import Answer, Toolbox
from tests.examples import up_to
from tests.known import known_as
from tests.unit.surfaces.verdicts import HOSTILE

NOTHING = Answer({}, "")


@dataclass
class Desk:
    """Answers everything with nothing, and remembers what reached it; `time` is the clock."""

    reached: list[tuple[str, Any]] = field(default_factory=list)
    refusals: list[tuple[str, str]] = field(default_factory=list)
    time: float = 0.0

    def toolbox(self, calls: str = "1000/1m") -> Toolbox:
        answers: Any = self
        return Toolbox(answers, lambda event, **fields: None, lambda: self.time, Allowance.parse(calls), 20)

    async def check(self, nodes: Sequence[str]) -> Answer:
        return self._heard("check", list(nodes))

    async def incidents(self, state: State | None) -> Answer:
        return self._heard("incidents", state)

    async def incident(self, incident_id: str) -> Answer:
        return self._heard("incident", incident_id)

    async def explain(self, incident_id: str) -> Answer:
        return self._heard("explain", incident_id)

    async def record_refused_call(self, no: Refused, wish: str) -> None:
        self.refusals.append((no.name, wish))

    def _heard(self, tool: str, what: Any) -> Answer:
        self.reached.append((tool, what))
        return NOTHING


async def words_of(toolbox: Toolbox, tool: str, arguments: dict[str, Any]) -> str:
    """Call a tool and return what it says against that; empty where it was answered."""
    try:
        await toolbox.call(tool, arguments)
    except ZombieError as no:
        return str(no)
    return ""


_words = st.one_of(st.text(max_size=80), st.just(HOSTILE), st.sampled_from(["node-1", "house", "7k3m9x2qpv", "opened"]))
_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), _words),
    lambda inner: st.one_of(st.lists(inner, max_size=30), st.dictionaries(_words, inner, max_size=3)),
)
_arguments = st.dictionaries(st.one_of(st.sampled_from(["nodes", "state", "id"]), _words), _values, max_size=3)


@settings(max_examples=up_to(160), deadline=None)
@given(st.sampled_from(["check", "incidents", "incident", "explain"]), _arguments)
async def test_whatever_is_sent_only_names_states_and_ids_reach_anybody(tool: str, arguments: dict[str, Any]) -> None:
    desk = Desk()
    said = await words_of(desk.toolbox(), tool, arguments)
    assert bool(said) != bool(desk.reached)
    assert said == safe(said)
    if said:
        return
    ((name, what),) = desk.reached
    assert name == tool
    match tool:
        case "check":
            assert 0 < len(what) <= 20
            assert all(is_name(node) for node in what)
        case "incidents":
            assert what is None or what in State
        case _:
            assert isinstance(what, str)
            assert what.isascii()
            assert "/" not in what


@pytest.mark.parametrize("name", ["remediate", "approve", "", "__class__", HOSTILE])
async def test_there_is_no_tool_that_acts_nor_any_other(name: str) -> None:
    desk = Desk()
    with pytest.raises(LookupError):
        await desk.toolbox().call(name, {"nodes": ["node-1"]})
    assert (desk.reached, desk.refusals) == ([], [])


async def test_calls_of_all_tools_count_together_and_more_are_taken_when_time_has_passed() -> None:
    desk = Desk()
    toolbox = desk.toolbox("2/1m")
    await toolbox.call("check", {"nodes": ["node-1"]})
    with pytest.raises(ZombieError):
        await toolbox.call("incident", {"id": "../x"})  # what is refused counts, too
    with pytest.raises(TooManyRequests, match="Call again in 1 min"):
        await toolbox.call("incidents", {})
    assert desk.refusals == [("TooManyRequests", "mcp incidents")]
    desk.time = timedelta(minutes=1).total_seconds()
    await toolbox.call("incidents", {})
    assert [tool for tool, _ in desk.reached] == ["check", "incidents"]


def test_names_are_short_and_every_schema_takes_nothing_else() -> None:
    for tool in Desk().toolbox().tools:
        assert len(tool.name) <= 64
        assert tool.name.isidentifier()
        Draft202012Validator.check_schema(dict(tool.inputs))
        assert tool.inputs["additionalProperties"] is False


@pytest.mark.parametrize("error", [ValueError("password=hunter2 \x1b[31m"), KeyError("password=hunter2")])
async def test_what_fails_within_is_sent_to_no_client(error: Exception) -> None:
    from mcp import Client, MCPError  # seconds, which only who needs it should spend

    from bot.extras.mcp.server import mcp_server

    class Broken(Desk):
        def _heard(self, tool: str, what: Any) -> Answer:
            raise error

    logged: list[str] = []
    toolbox = replace(Broken().toolbox(), log=lambda event, **fields: logged.append(event))
    async with Client(mcp_server(toolbox)) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("incidents", {})
    assert caught.value.message == f"It failed ({type(error).__name__}); the bot's log says why."
    assert logged == ["mcp_failed"]


async def test_no_line_of_an_answer_is_lost_by_what_another_says() -> None:
    from mcp import Client
    from mcp.types import TextContent

    from bot.extras.mcp.server import mcp_server

    class Says(Desk):
        def _heard(self, tool: str, what: Any) -> Answer:
            return Answer({}, 'killed (pw=""")\nnode-2: critical\nmysql --password hunter2\n')

    async with Client(mcp_server(Says().toolbox())) as client:
        told = await client.call_tool("incidents", {})
    (said,) = told.content
    assert known_as(said, TextContent).text.splitlines()[1:] == ["node-2: critical", "mysql --password [redacted]"]
