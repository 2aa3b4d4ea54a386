"""The login that acts may be another than the one that reads, and is asked for only where it is named."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bot.app.acting import acting, acting_login, acting_rights
from bot.app.policy_settings import policy_as_written, policy_of
from bot.app.version import program_name
from bot.domain.errors import SettingsError
from bot.inventory import Inventory
from bot.settings import Settings
from bot.sources import settings_of

ACT = '[act]\nunits = ["ecs.service", "a.service"]\n'


def settings(folder: Path, text: str) -> Settings:
    (folder / "zombie.toml").write_text(text)
    return Settings.load({}, {}, folder, folder, settings_of())


def key(path: Path, passphrase: str = "") -> Path:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return path


def test_key_of_its_own_is_looked_for_beside_the_settings_and_in_the_home(tmp_path: Path) -> None:
    key(tmp_path / "act_key")
    told = settings(tmp_path, '[ssh.act]\nuser = "fixer"\nkey = "act_key"\n')
    assert acting_login(told, {}) == {"user": "fixer", "key": tmp_path / "act_key"}
    told = settings(tmp_path, '[ssh.act]\nkey = "~/act_key"\n')
    assert acting_login(told, {}) == {"key": tmp_path / "act_key"}


def test_key_that_cannot_be_used_is_said_at_once(tmp_path: Path) -> None:
    key(tmp_path / "open_key").chmod(0o644)
    key(tmp_path / "locked_key", "secret")
    (tmp_path / "text").write_text("no key at all")
    (tmp_path / "text").chmod(0o600)
    for name, says in (
        ("no_key", "There is no private key .*no_key"),
        ("open_key", "is open to others"),
        ("text", "is not a private key"),
        ("locked_key", "has a passphrase"),
    ):
        with pytest.raises(SettingsError, match=rf"The key of \[ssh.act\] in zombie.toml cannot be used: .*{says}"):
            acting_login(settings(tmp_path, f'[ssh.act]\nkey = "{name}"\n'), {})


@pytest.mark.parametrize(
    ("url", "written", "labels", "acts"),
    [
        ("https://slack.com/api/", "", {}, True),
        ("http://127.0.0.1:1/api/", "", {}, False),
        ("https://notslack.com/api/", "", {}, False),
        ("http://127.0.0.1:1/api/", "acting = true", {}, True),
        ("http://127.0.0.1:1/api/", "", {"lab": "qemu"}, True),
        ("https://slack.com/api/", "acting = false", {}, False),
    ],
)
def test_another_slack_than_slacks_own_may_not_say_yes_unless_that_is_written_out(
    tmp_path: Path, url: str, written: str, labels: dict[str, str], acts: bool
) -> None:
    (tmp_path / "zombie.toml").write_text(f'[policy]\napprovers = ["U1"]\n{written}\n')
    told = ", ".join(f'{name} = "{value}"' for name, value in labels.items())
    (tmp_path / "nodes.toml").write_text(f'[nodes.a]\naddress = "127.0.0.1"\nlabels = {{ {told} }}\n')
    in_force = Settings.load({}, {"SLACK_API_URL": url}, tmp_path, members=settings_of())
    assert policy_of(in_force, Inventory.load(tmp_path / "nodes.toml")).acting is acts


def test_rights_are_those_of_the_named_units_and_none_where_none_is(tmp_path: Path) -> None:
    assert acting_rights(settings(tmp_path, "")) == ()
    rights = [" ".join(argv) for argv in acting_rights(settings(tmp_path, ACT))]
    assert {"systemctl disable --now -- a.service", "systemctl mask --now -- ecs.service"} <= set(rights)
    assert {word for line in rights for word in line.split() if ".service" in word} == {"a.service", "ecs.service"}
    assert acting_rights(settings(tmp_path, '[act]\nunits = ["sshd.service"]\n')) == (), "it may never be stopped"


def test_unit_that_may_be_started_may_be_protected_and_nothing_else_of_it_is_allowed(tmp_path: Path) -> None:
    start = '[act]\nstart_units = ["kubelet.service"]\n'
    assert acting_rights(settings(tmp_path, start)) == (("systemctl", "start", "--", "kubelet.service"),)
    both = [" ".join(argv) for argv in acting_rights(settings(tmp_path, start + 'units = ["ecs.service"]\n'))]
    assert [line for line in both if "kubelet" in line] == ["systemctl start -- kubelet.service"]
    assert "systemctl reboot" in both


def test_only_what_is_proven_is_a_rule_of_the_policy_so_that_no_other_programs_proposal_gets_past_it(
    tmp_path: Path,
) -> None:
    without, only = (
        policy_as_written(settings(tmp_path, f"{ACT}proven_only = {said}\n")) for said in ("false", "true")
    )
    assert "proven_only" not in without.text, "or every record from before would be about another policy"
    assert without.digest != only.digest


def test_named_start_units_are_a_rule_of_the_policy_and_none_is_as_before(tmp_path: Path) -> None:
    without = policy_as_written(settings(tmp_path, ACT))
    assert "start_units" not in without.text, "or every record from before would be about another policy"
    with_one = policy_as_written(settings(tmp_path, ACT + 'start_units = ["kubelet.service"]\n'))
    assert '"start_units":["kubelet.service"]' in with_one.text
    assert with_one.digest != without.digest


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[policy]\nquiet = ["22-6"]\n', "22:00-06:00"),
        ("[act]\nper_label = { az = 0 }\n", "az"),
        ("[act]\nunit = []\n", "units"),
    ],
)
def test_rule_that_is_malformed_is_said_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SettingsError, match=r"zombie\.toml:2") as no:
        settings(tmp_path, text)
    assert says in str(no.value)


def test_readings_of_a_bot_that_serves_keep_their_cases(tmp_path: Path) -> None:
    (tmp_path / "inventory.toml").write_text('[nodes.n1]\naddress = "127.0.0.1"\n')
    settings = Settings.load({}, {}, tmp_path, tmp_path, settings_of())
    known = Inventory.load(tmp_path / "inventory.toml", home=tmp_path)
    parts = acting(settings, known, None, {"HOME": str(tmp_path)})  # type: ignore[arg-type]
    assert parts.triage.program == program_name()
