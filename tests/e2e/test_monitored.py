"""A node's own counter crosses a shipped rule, and its card comes and closes: by node_exporter, Prometheus,
Alertmanager and nginx, as Debian has them, with the files of `docs/` and `deploy/`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.alerts.bodies import SECRET
from tests.conftest import missing
from tests.contract.test_memory_cgroups_script import run
from tests.monitoring.dashboards import DOCS, RULES
from tests.monitoring.proxies import HOST, certificate, nginx, replaced
from tests.ports import free_port
from tests.slack.service import Readings, card_saying, eventually, serving
from tests.slack.workspace import workspace

TOML = '[slack]\nalerts_channel = "C0ALERTS01"\n'
TREE = "nr_descendants 240\nnr_dying_descendants {dying}\n"


def program(name: str) -> str:
    package = {"promtool": "prometheus", "amtool": "prometheus-alertmanager"}.get(name, name)
    return shutil.which(name) or missing(f"{name} is not installed (Debian: apt install {package})")


@asynccontextmanager
async def running(folder: Path, port: int, *command: str) -> AsyncIterator[None]:
    """A program that listens on a port of loopback; it is ended when the block ends."""
    log = folder / f"{Path(command[0]).name}.log"
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(*command, cwd=folder, stdout=out, stderr=out)
    try:
        async with asyncio.timeout(60):
            while True:
                assert process.returncode is None, log.read_text()
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    break
                await asyncio.sleep(0.05)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


def prometheus(folder: Path, alertmanager: int, exporter: int) -> Path:
    """Write a configuration with the shipped rules, in seconds where they have minutes."""
    quick = replaced(RULES.read_text(), ("interval: 30s", "interval: 1s"), ("for: 10m", "for: 1s"))
    (folder / "rules.yaml").write_text(quick)
    where = {"targets": [f"127.0.0.1:{exporter}"], "labels": {"instance": "node-3:9100"}}
    config = folder / "prometheus.yaml"
    config.write_text(
        json.dumps(
            {
                "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                "rule_files": ["rules.yaml"],
                "alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{alertmanager}"]}]}]},
                "scrape_configs": [{"job_name": "node", "static_configs": [where]}],
            }
        )
    )
    subprocess.run([program("promtool"), "check", "config", str(config)], check=True, capture_output=True, timeout=60)
    return config


def alertmanager(folder: Path, proxy: int, trusted: Path) -> Path:
    """Write the shipped receiver, with this machine's addresses, and TLS to the proxy's own certificate."""
    token = folder / "token"
    token.write_text(SECRET)
    config = folder / "alertmanager.yaml"
    tls = f"tls_config: {{ca_file: {trusted}, server_name: {HOST}}}"
    config.write_text(
        replaced(
            (DOCS / "alertmanager-receiver.yaml").read_text(),
            ("http://zombie.example:8080/", f"https://127.0.0.1:{proxy}/"),
            ("credentials_file: /etc/alertmanager/zombie-token", f"credentials_file: {token}\n          {tls}"),
            ("group_wait: 5s", "group_wait: 1s"),
            ("group_interval: 30s", "group_interval: 1s"),
        )
    )
    subprocess.run([program("amtool"), "check-config", str(config)], check=True, capture_output=True, timeout=60)
    return config


@pytest.mark.slow
async def test_counter_of_a_node_opens_a_card_and_closes_it(tmp_path: Path) -> None:
    tree, counters = tmp_path / "cgroup", tmp_path / "textfiles"
    tree.mkdir()
    counters.mkdir()
    (tree / "cgroup.controllers").write_text("cpu memory pids\n")

    def count(dying: int) -> None:
        (tree / "cgroup.stat").write_text(TREE.format(dying=dying))
        assert run(("sh",), tree, str(counters)).returncode == 0

    count(240)
    exporter, scraper, sender, proxy = (free_port() for _ in range(4))
    made, key = certificate(tmp_path)
    scraped, sent = prometheus(tmp_path, sender, exporter), alertmanager(tmp_path, proxy, made)

    async with AsyncExitStack() as kept:
        slack = await kept.enter_async_context(workspace())
        readings = Readings()
        bot = await kept.enter_async_context(
            serving(slack, tmp_path, readings, toml=TOML, environment={"ALERTMANAGER_TOKEN": SECRET})
        )
        behind = int(bot.address.rpartition(":")[2])
        for port, command in {
            proxy: nginx(tmp_path, proxy, behind, made, key),
            exporter: [
                *(program("prometheus-node-exporter"), f"--web.listen-address=127.0.0.1:{exporter}"),
                *("--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={counters}"),
            ],
            sender: [
                *(program("prometheus-alertmanager"), f"--config.file={sent}", f"--storage.path={tmp_path / 'sent'}"),
                *(f"--web.listen-address=127.0.0.1:{sender}", "--cluster.listen-address="),
            ],
            scraper: [
                *(program("prometheus"), f"--config.file={scraped}", f"--storage.tsdb.path={tmp_path / 'series'}"),
                f"--web.listen-address=127.0.0.1:{scraper}",
            ],
        }.items():
            await kept.enter_async_context(running(tmp_path, port, *command))

        count(68_440)
        card = await card_saying(slack, "leaked-memory-cgroups", "alerts")
        assert "MemoryCgroupsDyingUnified" in card.text
        assert "node-3" in card.text
        await eventually(bot.incidents, {"node-3": "triaged"})

        count(240)  # after a reboot
        closed = await card_saying(slack, "Resolved: node-3", "alerts")
        assert (closed.ts, readings.asked["node-3"]) == (card.ts, 1), "the same card, and the node was read once"
