"""MCP as other programs use it: the official client, over both transports, against simulated nodes by real SSH."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from jsonschema import Draft202012Validator

from bot.demo.fleet_leaks import AUTO_RESTART
from bot.surfaces.document import SCHEMA_FILE
from tests.nodes.acting_fleet import POLICY, Site, site
from tests.program import Running
from tests.serving import served

if TYPE_CHECKING:
    from mcp import Client  # takes long to load, so it is loaded where it is used

pytestmark = pytest.mark.slow
TOKEN = "5eed" * 8
CAUSE = "leaked-memory-cgroups"
SCHEMA = Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))
NODES = {"node-1": (AUTO_RESTART, None)}
HOSTILE: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("check", {"nodes": ["$(reboot)"]}, "is not a node name"),
    ("check", {"nodes": ["-oProxyCommand=x"]}, "is not a node name"),
    ("check", {"nodes": ["node-1\x1b[31m"]}, "is not a node name"),
    ("check", {"nodes": ["node-9"]}, "Did you mean node-1?"),
    ("check", {"nodes": []}, "and not empty"),
    ("check", {"nodes": "node-1"}, "is a list of node names"),
    ("check", {"nodes": [f"n{number}" for number in range(21)]}, "the limit is 20"),
    ("check", {"nodes": ["node-1"], "then": "reboot"}, "There is no argument then"),
    ("incident", {"id": "../house"}, "is not an incident's id"),
)
ASKERS = POLICY.replace("[policy]\n", '[policy]\naskers = ["U012AB3CD"]\n') + '[mcp]\ncalls = "12/1m"\n'


@asynccontextmanager
async def by_stdio(here: Site) -> AsyncIterator[Client]:
    """A client that starts the program itself, as an IDE does."""
    from mcp import Client, StdioServerParameters

    words = ["-P", "-m", "bot", "mcp"]
    environ = {**here.environ, "SUDO_USER": "ann"}
    server = StdioServerParameters(command=sys.executable, args=words, env=environ, cwd=here.folder)
    async with Client(server, read_timeout_seconds=60) as client:
        yield client


@asynccontextmanager
async def serving(here: Site, *words: str) -> AsyncIterator[str]:
    """Run the program, serving by HTTP on a port of the kernel's; yields its address."""
    environ = {**here.environ, "ZOMBIE_MCP_TOKEN": TOKEN, "ZOMBIE_LISTEN": "127.0.0.1:0"}
    async with served(Running.start(*words, cwd=here.folder, env=environ, out=False), "listening") as program:
        yield program.address
    assert TOKEN not in json.dumps(program.lines)


@asynccontextmanager
async def by_http(address: str, token: str = TOKEN) -> AsyncIterator[Client]:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{address}/mcp", http_client=http), read_timeout_seconds=60) as client,
    ):
        yield client


def words_of(result: Any) -> str:
    (content,) = result.content
    return str(content.text)


async def refuses(client: Client) -> None:
    """What a model might be talked into sending is refused in words; there is no tool that acts."""
    from mcp import MCPError

    for tool, arguments, says in HOSTILE:
        refused = await client.call_tool(tool, arguments)
        assert refused.is_error, arguments
        assert says in words_of(refused), words_of(refused)
        assert "\x1b" not in words_of(refused)
    with pytest.raises(MCPError, match="There is no tool"):
        await client.call_tool("remediate", {"id": "7k3m9x2qpv"})


async def test_client_that_starts_it_hears_what_a_terminal_says_and_nothing_acts(tmp_path: Path) -> None:
    async with site(tmp_path, NODES) as here:
        by_another = (await here.opened("node-1"))["node-1"]
        async with by_stdio(here) as client:
            listed = (await client.list_tools()).tools
            assert [tool.name for tool in listed] == ["check", "incidents", "incident", "explain"]
            assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in listed)
            result = await client.call_tool("check", {"nodes": ["node-1"]})
            assert not result.is_error
            assert list(SCHEMA.iter_errors(result.structured_content)) == []
            (node,) = result.structured_content["nodes"]
            assert (node["node"], node["status"], node["cause"]) == ("node-1", "critical", CAUSE)
            assert CAUSE in words_of(result)
            incident = node["incident"]
            shown = (await client.call_tool("incident", {"id": incident})).structured_content
            assert shown == await here.told(incident)
            assert [entry["kind"] for entry in shown["entries"]] == ["AlertReceived", "Triaged", "PlanWithheld"]
            assert (shown["state"], shown["source"]["kind"]) == ("triaged", "mcp")
            assert shown["entries"][0]["by"] == "terminal:ann"
            listed_now = (await client.call_tool("incidents", {"state": "triaged"})).structured_content["incidents"]
            assert [each["id"] for each in listed_now] == [incident]
            why = (await client.call_tool("explain", {"id": by_another})).structured_content
            assert why == json.loads((await here.zombie("why", by_another, "--json")).out)
            assert why["verdict"]["cause"] == CAUSE
            assert set(why["changes"][0]) == {"with", "status", "cause", "confidence", "plan", "says"}
            await refuses(client)
        assert here.machine("node-1").done == []
        assert (await here.zombie("audit", "verify")).status == 0


async def test_client_over_http_is_the_named_asker_and_calls_only_so_often(tmp_path: Path) -> None:
    async with site(tmp_path, NODES, ASKERS) as here:
        async with serving(here, "serve") as address, by_http(address) as client:  # without any Slack
            node = (await client.call_tool("check", {"nodes": ["node-1", "node-1"]})).structured_content["nodes"][0]
            assert node["cause"] == CAUSE
            (asked,) = [entry for entry in (await here.told(node["incident"]))["entries"] if entry["seq"] == 1]
            assert (asked["by"], asked["body"]["alert"]["kind"]) == ("slack:U012AB3CD", "mcp")
            told = [await client.call_tool("incidents", {}) for _ in range(12)]
            assert "TooManyRequests" in words_of(told[-1])
        exported = await here.zombie("audit", "export")
        assert any('"TooManyRequests"' in line and "slack:U012AB3CD" in line for line in exported.out.splitlines())
        assert here.machine("node-1").done == []


async def test_whoever_has_no_token_or_comes_from_a_foreign_page_stays_outside(tmp_path: Path) -> None:
    good = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with site(tmp_path, NODES) as here:
        async with serving(here, "mcp", "--http", "127.0.0.1:0") as address, httpx2.AsyncClient() as http:

            async def status(headers: dict[str, str], method: str = "POST", **more: Any) -> int:
                sent = more or {"json": ping}
                return (await http.request(method, f"{address}/mcp", headers=headers, **sent)).status_code

            assert await status(good) == 200
            assert await status({**good, "Authorization": "Bearer wrong"}) == 401
            assert await status({**good, "Authorization": TOKEN}) == 401
            assert await status({"Accept": good["Accept"]}) == 401
            for origin in ("https://evil.example", "null", "http://127.0.0.1.evil.example", "http://[", "file://"):
                assert await status({**good, "Origin": origin}) == 403, origin
            assert await status({**good, "Origin": "http://localhost:6274"}) == 200
            assert await status(good, content=b" " * (256 * 1024 + 1)) == 413
            assert await status({**good, "Content-Type": "application/json"}, content=b"{") == 400
            assert await status({**good, "Content-Encoding": "gzip"}) == 415
            assert await status(good, "GET") == 405
            assert (await http.get(f"{address}/healthz")).status_code == 200
            async with by_http(address) as client:  # there is no record, so there is nothing to list or to show
                (node,) = (await client.call_tool("check", {"nodes": ["node-1"]})).structured_content["nodes"]
                assert (node["cause"], "incident" in node) == (CAUSE, False), "a check makes no record by itself"
                assert (await client.call_tool("incidents", {})).structured_content == {"incidents": []}
                assert (await client.call_tool("incident", {"id": "7k3m9x2qpv"})).is_error
        without = {name: value for name, value in here.environ.items() if name != "ZOMBIE_MCP_TOKEN"}
        lacking = await Site(here.folder, here.fleet, without).zombie("mcp", "--http")
        assert (lacking.status, "ZOMBIE_MCP_TOKEN is not set" in lacking.err) == (2, True)
