"""`zombie settings` tells every value in force and where it came from, also of the tables that only a file can hold."""

from pathlib import Path

import pytest

from bot.__main__ import main


def test_what_the_file_says_of_policy_acting_and_routes_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "zombie.toml").write_text(
        '[policy]\napprovers = ["U1"]\n[act]\nunits = ["ecs.service"]\n[ssh.act]\nuser = "actor"\n'
        '[[route]]\nmatch = { source = "pagerduty" }\nchannel = "C1"\n'
        '[[sweep]]\nselect = "role=gpu"\nchannel = "C2"\n[check]\nsamples = 7\n'
    )
    monkeypatch.chdir(tmp_path)
    assert main(["settings"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert 'policy.approvers = ["U1"]  [zombie.toml]' in told
    assert "policy.self_approval = false  [default]" in told
    assert told[told.index("policy.self_approval = false  [default]") + 1] == (
        "    Whether the person who asked may approve."
    )
    assert "slack.alerts_channel = (not set)  [default]" in told
    assert 'act.units = ["ecs.service"]  [zombie.toml]' in told
    assert 'ssh.act.user = "actor"  [zombie.toml]' in told
    assert 'route = {"match": {"source": "pagerduty"}, "channel": "C1"}  [zombie.toml]' in told
    assert 'sweep = {"select": "role=gpu", "channel": "C2"}  [zombie.toml]' in told
    assert any(line.startswith("samples = 7  [") and "zombie.toml" in line for line in told)


def test_address_with_a_password_is_shown_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PAGERDUTY_API_URL", "https://ann:hunter2@proxy.example")
    assert main(["settings"]) == 0
    assert "pagerduty_api_url = https://ann:[redacted]@proxy.example  [" in capsys.readouterr().out
    (tmp_path / "nodes.toml").write_text('[nodes.node-1]\naddress = "127.0.0.1"\n')
    monkeypatch.setenv("ZOMBIE_SCHEDULER", "tls://ann:hunter2@scheduler.example:1")
    assert main(["fleet", "--inventory", "nodes.toml", "node-1"]) == 2
    assert "“tls://ann:[redacted]@scheduler.example:1” is not an address" in capsys.readouterr().err
