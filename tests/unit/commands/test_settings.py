"""`zombie settings` tells every value in force and where it came from, also of the tables that only a file can hold."""

import pytest

from tests.commandline import CommandLine


def test_what_the_file_says_of_policy_acting_and_routes_is_told(run: CommandLine) -> None:
    (run.folder / "zombie.toml").write_text(
        '[policy]\napprovers = ["U1"]\n[act]\nunits = ["ecs.service"]\n[ssh.act]\nuser = "actor"\n'
        '[[route]]\nmatch = { source = "pagerduty" }\nchannel = "C1"\n'
        '[[sweep]]\nselect = "role=gpu"\nchannel = "C2"\n[check]\nsamples = 7\n'
    )
    status, out, _ = run("settings")
    told = out.splitlines()
    assert status == 0
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


def test_address_with_a_password_is_shown_without_it(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGERDUTY_API_URL", "https://ann:hunter2@proxy.example")
    assert "pagerduty_api_url = https://ann:[redacted]@proxy.example  [" in run("settings").out
    run.unreachable("node-1")
    monkeypatch.setenv("ZOMBIE_SCHEDULER", "tls://ann:hunter2@scheduler.example:1")
    status, _, err = run("fleet", "node-1")
    assert (status, "“tls://ann:[redacted]@scheduler.example:1” is not an address" in err) == (2, True)
