"""What a node asks of others while it is read: the threat model lists all of it, and nothing else may join unsaid."""

from __future__ import annotations

import re
from pathlib import Path

from bot.probes import PROBES

# Programs that open a connection, or may; `docker` and its like talk to a socket of the node's own.
_ASKS = re.compile(
    r"\b(dig|host|nslookup|resolvectl|getent|curl|wget|nc|ncat|telnet|ping|ssh|chronyc|ntpq|ntpdate|kubectl"
    r"|openssl s_client)\b(?=[ ;])|/dev/(?:tcp|udp)/"
)
_ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b")
PAGE = Path(__file__).parents[3] / "docs" / "threat-model.md"


def test_only_these_probes_ask_anybody_and_only_the_resolvers_are_not_the_node_itself() -> None:
    asked, addresses = {}, set()
    for probe in PROBES.values():
        words = " ".join(word for command in probe.commands for word in command.argv)
        if found := {match.group(0) for match in _ASKS.finditer(words)}:
            asked[probe.name] = found
        addresses |= set(_ADDRESS.findall(words))
    assert asked == {
        "certificates": {"openssl s_client"},
        "clock": {"chronyc", "ntpq"},
        "dns": {"dig", "host", "nslookup", "/dev/udp/"},
        "essential_units": {"curl"},
    }
    assert addresses == {"127.0.0.1:10250", "127.0.0.1:10248", "127.0.0.1"}


def test_threat_model_names_each_of_them() -> None:
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition("## What a check asks other machines")[2].partition("\n## ")[0]
    for word in ("resolv.conf", "127.0.0.1:10250", "127.0.0.1:10248", "chronyc", "ntpq"):
        assert word in section, word
