"""Where Prometheus and Pyroscope answer, and how Pyroscope names nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.domain.safe_text import one_line
from bot.domain.setting import option, secret
from bot.domain.toml_table import TomlTable

CPU_PROFILE = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,99}\Z")
_PROFILE = re.compile(r"[A-Za-z0-9_]+(?::[A-Za-z0-9_]+){4}\Z")


@dataclass(frozen=True, slots=True)
class PrometheusSettings:
    """Where Prometheus answers."""

    url: str = secret(  # it may hold a password
        "A Prometheus whose past of a node is shown beside its verdict: the base, https://prometheus.example.",
        "PROMETHEUS_URL",
    )


def _label(table: TomlTable, name: str) -> str | None:
    label = table.text(name)
    if label is not None and _LABEL.match(label) is None:
        table.wrong(name, f'is "{one_line(label, 60)}"; a label is a word like "node"')
    return label


def _profile(table: TomlTable, name: str) -> str | None:
    kind = table.text(name)
    if kind is not None and _PROFILE.match(kind) is None:
        table.wrong(name, f'is "{one_line(kind, 80)}"; a type of profile is like "{CPU_PROFILE}"')
    return kind


@dataclass(frozen=True, slots=True)
class PyroscopeSettings:
    """A continuous profiler, and how it names nodes."""

    url: str = secret(  # it may hold a password
        "A Pyroscope whose top functions of a node stand beside its verdict: the base, https://pyroscope.example.",
        "PYROSCOPE_URL",
    )
    label: str = option(_label, "node")
    profile: str = option(_profile, CPU_PROFILE)
    tenant: str = option(TomlTable.text, "")
