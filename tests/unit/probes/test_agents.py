"""agents: which known agents a node has, and which of them nothing here needs."""

from pathlib import Path

import pytest

from bot.domain.command import Outputs
from bot.domain.errors import CannotRead
from bot.domain.known_agents import KNOWN_AGENTS
from bot.domain.protected import KUBELET_UNITS, is_protected
from bot.probes.agents import CONFIGS, INIT_LOG, PROBE, Agent, AgentsReading, parse
from tests.readings.node_tools import printed
from tests.readings.recorded import run

ENABLED = "ecs.service enabled enabled\n"
LOOPS = "ecs.service loaded activating auto-restart Amazon Elastic Container Service - container agent\n"
KUBELET = "kubelet.service loaded active running kubelet: The Kubernetes Node Agent\n"
FAILED = "==> /var/log/ecs/ecs-init.log <==\n2026-11-21T10:00:11Z [INFO] Agent exited with code 1\n"
CLUSTER = "==> /etc/ecs/ecs.config <==\nECS_CLUSTER=production\n"
REGISTERED = '==> /var/log/ecs/ecs-agent.log <==\nlevel=info time=2026-11-21T{} msg="Registered container instance"\n'


def read(files: str | None, unit_files: str = ENABLED, units: str = LOOPS + KUBELET) -> AgentsReading:
    runs = [run("units", f"{unit_files}-- active --\n{units}-- end --\n")]
    return parse(Outputs(*runs, *([] if files is None else [run("files", f"{files}-- end --\n")])))


def ecs(files: str | None, units: str = LOOPS + KUBELET) -> Agent:
    (agent,) = read(files, units=units).agents
    return agent


def test_last_time_that_it_worked_is_its_last_registration() -> None:
    assert ecs(FAILED).log_worked_at == ""
    twice = REGISTERED.format("09:00:00Z") + 'level=info time=2026-11-21T09:40:00Z msg="Registration completed"\n'
    assert ecs(FAILED + twice).log_worked_at == "2026-11-21T09:40:00Z"


@pytest.mark.parametrize(
    ("files", "units", "used", "because"),
    [
        (FAILED, LOOPS + KUBELET, False, "no ECS cluster, by name"),
        (FAILED, LOOPS, None, "cluster called default"),
        (CLUSTER, LOOPS + KUBELET, None, "ECS_CLUSTER is production, and kubelet.service runs here too"),
        (CLUSTER, LOOPS, True, "ECS_CLUSTER is production"),
        (REGISTERED.format("10:00:00Z"), LOOPS + KUBELET, True, "registration with a cluster"),
        (FAILED + REGISTERED.format("10:00:12Z"), LOOPS, True, "registration with a cluster"),
        (FAILED + REGISTERED.format("10:00:10Z"), LOOPS + KUBELET, False, "no ECS cluster"),
        ("unreadable /etc/ecs/ecs.config\n", LOOPS + KUBELET, None, "could not be read"),
        (None, LOOPS + KUBELET, None, "could not be read"),
    ],
)
def test_ecs_is_used_unused_or_not_to_be_told(files: str | None, units: str, used: bool | None, because: str) -> None:
    agent = ecs(files, units)
    assert agent.used is used
    assert because in agent.because


def test_files_that_are_cut_short_tell_nothing() -> None:
    text = f"{ENABLED}-- active --\n{LOOPS}{KUBELET}-- end --\n"
    (agent,) = parse(Outputs(run("units", text), run("files", FAILED))).agents
    assert (agent.used, agent.log_exits) == (None, 0)


def test_orchestrator_is_whoever_runs() -> None:
    assert read("", units=LOOPS).orchestrator == ""
    assert read(CLUSTER, units=LOOPS).orchestrator == "ecs"
    stopped = KUBELET.replace("active running", "inactive dead")
    assert read("", units=LOOPS + stopped).orchestrator == ""


def test_retries_are_counted_where_the_log_tells_no_exit_codes() -> None:
    retries = "2026-11-21T10:00:{}Z [WARN] ECS Agent failed to start, retrying in 8.287113937s\n"
    log = "==> /var/log/ecs/ecs-init.log <==\n" + retries.format("01") + retries.format("11")
    assert (ecs(log).log_exits, ecs(log).log_last_at) == (2, "2026-11-21T10:00:11Z")
    assert ecs(log + "2026-11-21T10:00:20Z Agent exited with code 0\n").log_exits == 2


def test_other_agents_are_listed_and_their_use_is_left_to_people() -> None:
    reading = read("", "datadog-agent.service enabled\ntelegraf.service disabled\nawslogs.service alias\n", "")
    datadog, telegraf = reading.agents
    assert (datadog.used, datadog.is_enabled, telegraf.is_enabled) == (None, True, False)
    assert "api_key" in datadog.because
    assert (datadog.active, reading.unused_count) == ("inactive", 0)


def test_agent_that_runs_without_a_unit_file_is_listed() -> None:
    (agent,) = read("", "", "telegraf.service not-found active running Telegraf\n").agents
    assert (agent.name, agent.enabled, agent.active) == ("telegraf", "", "active")


@pytest.mark.parametrize("text", ["ecs.service enabled", "ecs.service enabled\n-- active --\necs.serv"])
def test_list_that_is_cut_short_is_unread(text: str) -> None:
    with pytest.raises(CannotRead, match="cut short"):
        parse(Outputs(run("units", text)))


def test_fragment_sends_the_clusters_name_and_no_password(tmp_path: Path) -> None:
    """The fragment itself, against files that stand for an agent's."""
    config, log = tmp_path / "ecs.config", tmp_path / "ecs-init.log"
    config.write_text('ECS_ENGINE_AUTH_DATA={"password":"hunter2"}\n ECS_CLUSTER="production"\n')
    log.write_text("x Agent exited with code 1\n" * 2 + "x something else\n")
    said = PROBE.commands[1].argv[2].replace(CONFIGS[0], str(config)).replace(INIT_LOG, str(log))
    answer = printed(said)
    assert "hunter2" not in answer
    assert 'ECS_CLUSTER="production"' in answer
    assert answer.count("Agent exited with code 1") == 2
    assert answer.endswith("-- end --\n")


def test_failed_runs_are_counted_in_the_whole_log_and_few_of_its_lines_leave_the_node(tmp_path: Path) -> None:
    log = tmp_path / "ecs-init.log"
    log.write_text("2026-11-21T10:00:11Z [INFO] Agent exited with code 1\n" * 4_000 + "x Agent exited with code 0\n")
    said = PROBE.commands[1].argv[2].replace(INIT_LOG, str(log))
    answer = printed(said)
    assert answer.count("Agent exited with code") <= 300
    (agent,) = read(answer.replace(str(log), INIT_LOG)).agents
    assert agent.log_exits == 4_000


def test_table_of_agents_names_each_unit_once() -> None:
    units = [unit for agent in KNOWN_AGENTS for unit in agent.units] + list(KUBELET_UNITS)
    assert len(units) == len(set(units))
    assert all(unit.endswith(".service") for unit in units)
    assert not is_protected(KNOWN_AGENTS[0].units)
