"""The settings without a table of their own: files, how a check reads, where the bot listens."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from bot.domain.defaults import SAMPLES
from bot.domain.setting import SettingKind, row, secret


@dataclass(frozen=True, slots=True)
class General:
    """Settings without a table of their own."""

    config: Path | None = row(
        SettingKind.PATH,
        "The file that holds settings.",
        flag="--config",
        environment="ZOMBIE_CONFIG",
        where_it_exists="zombie.toml",
    )
    inventory: Path | None = row(
        SettingKind.PATH,
        "The nodes and how to reach them.",
        flag="--inventory",
        environment="ZOMBIE_INVENTORY",
        key="inventory",
        like='"inventory.toml"',
        where_it_exists="inventory.toml",
    )
    playbooks: tuple[Path, ...] = row(
        SettingKind.PATHS,
        "Folders of further playbooks; a playbook of the same name replaces the shipped playbook.",
        (),
        flag="--playbooks",
        environment="ZOMBIE_PLAYBOOKS",
        key="playbooks",
    )
    playbook: str = row(
        SettingKind.TEXT, "The playbook that a check uses.", "node-health", flag="--playbook", key="check.playbook"
    )
    samples: int = row(
        SettingKind.NUMBER,
        "How many seconds a check watches a node.",
        SAMPLES,
        flag="--samples",
        key="check.samples",
        high=60,
    )
    deadline: timedelta | None = row(
        SettingKind.DURATION,
        "When a check gives up on a node that still answers; the default is 55 s beyond the window. One that says "
        "nothing for 10 s is given up then.",
        flag="--deadline",
        key="check.deadline",
        like='"60s"',
        high=3600,
    )
    parallel: int | None = row(
        SettingKind.NUMBER,
        "How many nodes are checked at once; the default is up to 200 in a terminal, and 20 while serving.",
        flag="--parallel",
        key="check.parallel",
        like="20",
        high=1000,
    )
    listen: str = row(
        SettingKind.LISTEN,
        "Where `serve` answers HTTP: /healthz, /readyz, /metrics, /slack/events. Port 0 takes a free port.",
        "127.0.0.1:8080",
        environment="ZOMBIE_LISTEN",
    )
    metrics_token: str = secret(
        "A bearer token that may read /metrics from elsewhere; without it only this machine may.",
        "ZOMBIE_METRICS_TOKEN",
    )
    database_url: str = secret(
        "The ledger: sqlite:///PATH or postgresql://… The default is a file in the state directory.",
        "ZOMBIE_DATABASE_URL",
    )
    database_password: str = secret(
        "The password of a PostgreSQL whose ZOMBIE_DATABASE_URL has none, literally as the server knows it.",
        "ZOMBIE_DATABASE_PASSWORD",
    )
    state_dir: Path | None = row(
        SettingKind.PATH,
        "The directory of the default ledger; the default is by the XDG state convention.",
        environment="ZOMBIE_STATE_DIR",
    )
