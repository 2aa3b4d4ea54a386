"""Queries of the shipped dashboard and rules, with where each stands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import yaml

DOCS = Path(__file__).parents[2] / "docs"
RULES = DOCS / "alert-rules.yaml"
DASHBOARD = DOCS / "grafana-dashboard.json"


def of_dashboard() -> Iterator[tuple[str, str]]:
    """Yield each panel's title and query."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"].replace("$job", ".+")


def of_rules() -> Iterator[tuple[str, str]]:
    """Yield each rule's name and query."""
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        for rule in group["rules"]:
            yield rule.get("alert") or rule["record"], rule["expr"]
