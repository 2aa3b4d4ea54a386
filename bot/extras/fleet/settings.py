"""The scheduler whose workers read for sweeps, and the sweeps that run by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from bot.domain.setting import PATH, TEXT, Several, day_spans, option, row, text_or_texts, time_between
from bot.domain.toml_table import TomlTable


@dataclass(frozen=True, slots=True)
class WorkersSettings:
    """The scheduler, and the certificates by which it is reached."""

    scheduler: str = row(
        TEXT,
        "The scheduler whose workers read the nodes of `fleet` and `diff`; without it this machine reads them.",
        "",
        flag="--scheduler",
        environment="ZOMBIE_SCHEDULER",
        toml="workers.scheduler",
        like='"tls://scheduler.example.com:8786"',
        name="scheduler",
    )
    ca: Path | None = row(
        PATH,
        "The authority that signed the scheduler's and the workers' certificates, PEM.",
        flag="--scheduler-ca",
        environment="ZOMBIE_SCHEDULER_CA",
        toml="workers.ca",
        like='"ca.pem"',
        name="scheduler_ca",
    )
    cert: Path | None = row(
        PATH,
        "This program's own certificate for the scheduler, PEM.",
        flag="--scheduler-cert",
        environment="ZOMBIE_SCHEDULER_CERT",
        toml="workers.cert",
        like='"cert.pem"',
        name="scheduler_cert",
    )
    key: Path | None = row(
        PATH,
        "The key of that certificate, PEM.",
        flag="--scheduler-key",
        environment="ZOMBIE_SCHEDULER_KEY",
        toml="workers.key",
        like='"key.pem"',
        name="scheduler_key",
    )


RAREST = timedelta(days=31)


@dataclass(frozen=True, slots=True)
class SweepSettings(Several):
    """A [[sweep]]: which nodes are read how often, for which causes, and where its news goes."""

    needed = ("select", "channel")

    every: timedelta = option(
        time_between(timedelta(minutes=1), RAREST).from_toml, timedelta(hours=6), "How often the sweep runs."
    )
    select: tuple[str, ...] = option(text_or_texts, (), "Which nodes it reads.", like='["role=gpu"]')
    cause: tuple[str, ...] = option(
        text_or_texts, (), "Which causes it looks for; without it every signature.", like='["leaked-memory-cgroups"]'
    )
    full: bool = option(
        TomlTable.flag, False, "Whether each node gets a whole check: what is unusual on one is seen beside these."
    )
    channel: str = option(TomlTable.text, "", "Where a digest goes when there is news.", like='"C012AB3CD"')
    quiet: tuple[tuple[int, int], ...] = option(
        day_spans, (), "Times of the day, UTC, in which no sweep begins.", like='["22:00-06:00"]'
    )
