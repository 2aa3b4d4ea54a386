"""The settings, a row each: what it is called, what it may be, what it is when nobody says, and what it is for."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import timedelta
from typing import Any


class Kind(enum.Enum):
    """What a setting's value is, in the words of its documentation."""

    PATH = "path"
    PATHS = "paths"  # in the environment with colons between
    TEXT = "text"
    NUMBER = "number"
    DURATION = "duration"
    FLAG = "true or false"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Shape: `key` is its place in zombie.toml with dots between tables; an empty `flag`, `environment` or `key` is a way
    in which it cannot be given. `where_it_exists` is a file of the current folder that is the default if it is there.
    `low` and `high` bound a number, or a duration in seconds.
    """

    name: str
    kind: Kind
    help: str
    default: Any = None
    flag: str = ""
    environment: str = ""
    key: str = ""
    where_it_exists: str = ""
    low: int = 1
    high: int = 1_000_000
    secret: bool = False


SETTINGS = (
    Setting(
        "config",
        Kind.PATH,
        "The file that holds settings.",
        flag="--config",
        environment="ZOMBIE_CONFIG",
        where_it_exists="zombie.toml",
    ),
    Setting(
        "inventory",
        Kind.PATH,
        "The nodes and how to reach them.",
        flag="--inventory",
        environment="ZOMBIE_INVENTORY",
        key="inventory",
        where_it_exists="inventory.toml",
    ),
    Setting(
        "playbooks",
        Kind.PATHS,
        "Folders of further playbooks; one of the same name takes the place of ours.",
        default=(),
        flag="--playbooks",
        environment="ZOMBIE_PLAYBOOKS",
        key="playbooks",
    ),
    Setting(
        "playbook",
        Kind.TEXT,
        "The playbook that a check uses.",
        default="node-health",
        flag="--playbook",
        key="check.playbook",
    ),
    Setting(
        "samples",
        Kind.NUMBER,
        "How many seconds a check watches a node.",
        default=5,
        flag="--samples",
        key="check.samples",
        high=60,
    ),
    Setting(
        "deadline",
        Kind.DURATION,
        "When a check gives up on a node; the default is 15 s beyond the window.",
        flag="--deadline",
        key="check.deadline",
        high=3600,
    ),
    Setting(
        "parallel",
        Kind.NUMBER,
        "How many nodes are checked at once.",
        default=20,
        flag="--parallel",
        key="check.parallel",
        high=1000,
    ),
    Setting(
        "listen",
        Kind.TEXT,
        "Where `serve` answers HTTP: /healthz, /readyz, /metrics, /slack/events. Port 0 takes a free one.",
        default="127.0.0.1:8080",
        environment="ZOMBIE_LISTEN",
    ),
    Setting(
        "metrics_token",
        Kind.TEXT,
        "A bearer token that may read /metrics from elsewhere; without it only this machine may.",
        environment="ZOMBIE_METRICS_TOKEN",
        secret=True,
    ),
    Setting(
        "prometheus_url",
        Kind.TEXT,
        "A Prometheus whose past of a node is told beside its verdict: the base, https://prometheus.example.",
        environment="PROMETHEUS_URL",
        secret=True,  # it may hold a password
    ),
    Setting(
        "database_url",
        Kind.TEXT,
        "The ledger: sqlite:///PATH or postgresql://… The default is a file in the state directory.",
        environment="ZOMBIE_DATABASE_URL",
        secret=True,
    ),
    Setting(
        "state_dir",
        Kind.PATH,
        "The directory of the default ledger; the default is by the XDG state convention.",
        environment="ZOMBIE_STATE_DIR",
    ),
    Setting(
        "slack_bot_token",
        Kind.TEXT,
        "Slack's xoxb-… token, from “OAuth & Permissions” once the app is installed.",
        environment="SLACK_BOT_TOKEN",
        secret=True,
    ),
    Setting(
        "slack_app_token",
        Kind.TEXT,
        "Slack's xapp-… token with connections:write. With it Slack comes by Socket Mode, and no port need be open.",
        environment="SLACK_APP_TOKEN",
        secret=True,
    ),
    Setting(
        "slack_signing_secret",
        Kind.TEXT,
        "Slack's signing secret, from “Basic Information”. With it Slack may come by HTTP to /slack/events.",
        environment="SLACK_SIGNING_SECRET",
        secret=True,
    ),
    Setting(
        "slack_api_url",
        Kind.TEXT,
        "The base of Slack's Web API; https, or http on loopback.",
        default="https://slack.com/api/",
        environment="SLACK_API_URL",
    ),
    Setting(
        "pagerduty_api_token",
        Kind.TEXT,
        "PagerDuty's REST API key. With it alerts are read whole, and each incident carries a note with the verdict.",
        environment="PAGERDUTY_API_TOKEN",
        secret=True,
    ),
    Setting(
        "pagerduty_from",
        Kind.TEXT,
        "The e-mail address of the PagerDuty user in whose name notes are written.",
        environment="PAGERDUTY_FROM",
    ),
    Setting(
        "pagerduty_api_url",
        Kind.TEXT,
        "The base of PagerDuty's REST API, without a path; https, or http on loopback.",
        default="https://api.pagerduty.com",
        environment="PAGERDUTY_API_URL",
    ),
    Setting(
        "pagerduty_routing_key",
        Kind.TEXT,
        "The integration key of a service (Events API v2): what was acted on and not fixed is raised there.",
        environment="PAGERDUTY_ROUTING_KEY",
        secret=True,
    ),
    Setting(
        "pagerduty_events_url",
        Kind.TEXT,
        "The whole address of PagerDuty's Events API; https, or http on loopback.",
        default="https://events.pagerduty.com/v2/enqueue",
        environment="PAGERDUTY_EVENTS_URL",
    ),
    Setting(
        "pagerduty_webhook_secrets",
        Kind.TEXT,
        "The signing secrets of PagerDuty's webhook, with commas between while one is changed; with one /pagerduty is "
        "there.",
        environment="PAGERDUTY_WEBHOOK_SECRETS",
        secret=True,
    ),
    Setting(
        "alertmanager_token",
        Kind.TEXT,
        "The bearer token that Alertmanager sends; with it /alertmanager is there.",
        environment="ALERTMANAGER_TOKEN",
        secret=True,
    ),
    Setting(
        "grafana_webhook_secret",
        Kind.TEXT,
        "The secret by which Grafana signs its webhook; with it /grafana is there.",
        environment="GRAFANA_WEBHOOK_SECRET",
        secret=True,
    ),
    Setting(
        "kubernetes_context",
        Kind.TEXT,
        "The kubeconfig's context in which nodes labelled kubernetes_node are; their label kubernetes_context may say "
        "another. The current context is never taken.",
        key="kubernetes.context",
    ),
    Setting(
        "kubeconfig",
        Kind.PATH,
        "The kubeconfig by which a node is drained before its reboot; the default is ~/.kube/config once a context is "
        "named.",
        environment="KUBECONFIG",
        key="kubernetes.kubeconfig",
    ),
    Setting(
        "kubernetes_in_cluster",
        Kind.FLAG,
        "Use the account of the pod that this program runs in; its cluster's name is in-cluster.",
        default=False,
        key="kubernetes.in_cluster",
    ),
    Setting(
        "drain_deadline",
        Kind.DURATION,
        "How long a drain may take before it is handed to a person.",
        default=timedelta(minutes=10),
        key="kubernetes.drain_deadline",
        low=10,
        high=24 * 3600,
    ),
    Setting(
        "bare_pods",
        Kind.FLAG,
        "Evict also pods that no controller would start again; otherwise such a pod refuses the drain.",
        default=False,
        key="kubernetes.bare_pods",
    ),
)
