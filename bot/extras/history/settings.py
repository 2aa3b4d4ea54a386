"""Where Prometheus and Pyroscope answer, and how Pyroscope names nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.domain.safe_text import one_line
from bot.domain.setting import Reader, option, parsed, secret
from bot.domain.toml_table import TomlTable

CPU_PROFILE = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"


@dataclass(frozen=True, slots=True)
class PrometheusSettings:
    """Where Prometheus answers."""

    url: str = secret(  # it may hold a password
        "A Prometheus whose past of a node is shown beside its verdict: the base, https://prometheus.example.",
        "PROMETHEUS_URL",
    )


def _text_like(pattern: str, says: str) -> Reader[str]:
    """A text of that form: it stands in a query."""

    def parse(text: str) -> str:
        if re.fullmatch(pattern, text) is None:
            raise ValueError(f'is "{one_line(text, 80)}"; {says}')
        return text

    return parsed(parse)


@dataclass(frozen=True, slots=True)
class PyroscopeSettings:
    """A continuous profiler, and how it names nodes."""

    url: str = secret(  # it may hold a password
        "A Pyroscope whose top functions of a node stand beside its verdict: the base, https://pyroscope.example.",
        "PYROSCOPE_URL",
    )
    label: str = option(
        _text_like(r"[A-Za-z_][A-Za-z0-9_.]{0,99}", 'a label is a word like "node"'),
        "node",
        "Which label of a profile names the node.",
    )
    profile: str = option(
        _text_like(r"[A-Za-z0-9_]+(?::[A-Za-z0-9_]+){4}", f'a type of profile is like "{CPU_PROFILE}"'),
        CPU_PROFILE,
        "Which type of profile is asked for.",
    )
    tenant: str = option(TomlTable.text, "", "The tenant, where Pyroscope has several.", like='"team-a"')
