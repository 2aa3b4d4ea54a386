"""Settings are taken from the first place that gives them, and say where that was; a slip is told with its line."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.domain.errors import SettingsError
from bot.domain.setting import FLAG, number, row, secret, time_between
from bot.extras.captures.settings import CaptureSettings
from bot.settings import Settings, all_keys, database_url
from bot.sources import settings_of

HOME = Path("/home/someone")


def load(folder: Path, text: str | None = None, flags: Mapping[str, Any] | None = None, **environment: str) -> Settings:
    if text is not None:
        (folder / "zombie.toml").write_text(text)
    return Settings.load(flags or {}, environment, folder, HOME, {**settings_of(), "capture": CaptureSettings})


def origins(settings: Settings) -> dict[str, str]:
    return {one.key.name: one.origin for one in settings.given}


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(SettingsError) as refused:
        load(folder, text)
    return str(refused.value).replace(f"{folder}/", "")


def test_without_anything_every_setting_is_its_default(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert set(origins(settings).values()) == {"default"}
    assert (settings.inventory, settings.playbooks, settings.playbook) == (None, (), "node-health")
    assert (settings.samples, settings.deadline, settings.parallel) == (5, None, None)


def test_flag_comes_before_environment_before_file_before_default(tmp_path: Path) -> None:
    (tmp_path / "inventory.toml").touch()
    settings = load(tmp_path)
    assert (settings.inventory, origins(settings)["inventory"]) == (tmp_path / "inventory.toml", "default")
    text = '# mine\ninventory = "file.toml"\n'
    settings = load(tmp_path, text)
    assert settings.inventory == tmp_path / "file.toml"
    assert origins(settings)["inventory"] == f"{tmp_path}/zombie.toml:2"
    settings = load(tmp_path, text, ZOMBIE_INVENTORY="env.toml")
    assert (settings.inventory, origins(settings)["inventory"]) == (tmp_path / "env.toml", "ZOMBIE_INVENTORY")
    settings = load(tmp_path, text, {"inventory": Path("flag.toml")}, ZOMBIE_INVENTORY="env.toml")
    assert (settings.inventory, origins(settings)["inventory"]) == (tmp_path / "flag.toml", "--inventory")


def test_flag_that_was_not_given_and_blank_environment_count_for_nothing(tmp_path: Path) -> None:
    settings = load(tmp_path, None, {"inventory": None, "playbooks": [], "samples": None}, ZOMBIE_INVENTORY="  ")
    assert set(origins(settings).values()) == {"default"}


def test_paths_in_the_file_are_from_its_folder(tmp_path: Path) -> None:
    elsewhere = tmp_path / "etc"
    elsewhere.mkdir()
    (elsewhere / "my.toml").write_text('inventory = "nodes.toml"\nplaybooks = ["a", "~/b", "/c"]\n')
    settings = load(tmp_path, None, ZOMBIE_CONFIG="etc/my.toml")
    assert settings.inventory == elsewhere / "nodes.toml"
    assert settings.playbooks == (elsewhere / "a", HOME / "b", Path("/c"))
    assert origins(settings)["config"] == "ZOMBIE_CONFIG"


def test_environment_lists_folders_with_colons(tmp_path: Path) -> None:
    assert load(tmp_path, ZOMBIE_PLAYBOOKS="a::/b:~/c").playbooks == (tmp_path / "a", Path("/b"), HOME / "c")


def test_check_table_gives_what_a_check_uses(tmp_path: Path) -> None:
    settings = load(tmp_path, '[check]\nplaybook = "mine"\nsamples = 10\ndeadline = "1m"\nparallel = 100\n')
    assert (settings.playbook, settings.samples, settings.parallel) == ("mine", 10, 100)
    assert settings.deadline == timedelta(minutes=1)
    for written, as_seconds in (("2.5", 2.5), ("90", 90), ("2s", 2), ("1m", 60)):
        assert load(tmp_path, None, {"deadline": written, "samples": 3}).deadline == timedelta(seconds=as_seconds)
    for wrong in ("0.5", "500ms", "0", "3601"):
        with pytest.raises(SettingsError, match=f'--deadline is "{wrong}"; it should be from "1s" to "1h"'):
            load(tmp_path, None, {"deadline": wrong})
    with pytest.raises(SettingsError, match='--deadline is "-1"; it should be a time like "30s" or "2m"'):
        load(tmp_path, None, {"deadline": "-1"})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("\ninventry = 'x'\n", 'zombie.toml:2: unknown key "inventry". Did you mean inventory?'),
        ("[check]\nsamples = 61\n", "zombie.toml:2: check.samples is 61; it should be from 1 to 60"),
        ("check = 5\n", "zombie.toml:1: check is a number; it should be a table: [check]"),
        ("inventory = 5\n", "zombie.toml:1: inventory is a number; it should be text"),
        ("[policy]\nterminal_approvers = ['a=@a']\n", 'zombie.toml:2: policy.terminal_approvers holds "a=@a"; write'),
        ("[act]\nunits = ['*']\n", 'zombie.toml:2: act.units holds "*"; a unit is written whole and alone'),
        ("[act]\nunits = ['-x.service']\n", 'zombie.toml:2: act.units holds "-x.service"; a unit'),
        (
            "[act]\nunits = ['ecs']\n",
            'zombie.toml:2: act.units holds "ecs"; a unit is written whole and alone, like "ecs.service"',
        ),
        (
            "[act]\nstart_units = ['kubelet.service', 'systemd-reboot.service']\n",
            'zombie.toml:2: act.start_units holds "systemd-reboot.service", which is never started: it ends the boot',
        ),
        ('[act]\nunits = ["a.service\\nann ALL=ALL"]\n', 'zombie.toml:2: act.units holds "a.service'),
        ("[policy]\naskers = 'all'\n", 'zombie.toml:2: policy.askers is "all"; it should be "members", or a list'),
        ("[policy]\naskers = ['@ann']\n", 'zombie.toml:2: policy.askers holds "@ann"; write the ID of a member'),
        ("[policy]\naskers = []\n", 'zombie.toml:2: policy.askers is empty; every full member is "members"'),
        ("[slack]\nchecks_per_person = '20'\n", 'zombie.toml:2: slack.checks_per_person is written like "20/10m"'),
        (
            "[policy]\napproval_expires = '15'\n",
            'zombie.toml:2: policy.approval_expires is "15"; a duration is written',
        ),
        ("[ssh]\nuser = 'x'\n", 'zombie.toml:2: unknown key "user" in [ssh]. Known are: act.'),
        ("[[route]]\nmode = 'readonly'\n", 'zombie.toml:2: route.mode is "readonly". Did you mean read-only?'),
        ("[route]\nmode = 'remedies'\n", "zombie.toml:1: route should be tables, each under its own [[route]]"),
        (
            "[pagerduty]\nnode_patterns = ['(']\n",
            'zombie.toml:2: pagerduty.node_patterns holds "(", which is no regular',
        ),
        ("[capture]\napproval = false\n", "zombie.toml:2: capture.approval is gone: a capture only reads, and begins"),
        ("a = [", "zombie.toml:1: not TOML: Invalid value"),
    ],
)
def test_slip_in_the_file_is_told_with_its_line_and_what_would_be_right(tmp_path: Path, text: str, says: str) -> None:
    assert refusal(tmp_path, text).startswith(says)


def test_every_slip_is_told_at_once(tmp_path: Path) -> None:
    said = refusal(tmp_path, "[check]\nsamples = 0\n[slack]\nchanels = []\n[act]\nunits = 5\n").splitlines()
    assert [line.split(": ")[0] for line in said] == ["zombie.toml:2", "zombie.toml:4", "zombie.toml:6"]


def test_file_that_was_asked_for_has_to_be_there(tmp_path: Path) -> None:
    for way in ({"config": Path("gone.toml")}, {}):
        environment = {} if way else {"ZOMBIE_CONFIG": "gone.toml"}
        with pytest.raises(SettingsError, match=r"gone\.toml: the settings cannot be read: No such file"):
            Settings.load(way, environment, tmp_path, members=settings_of())


@dataclass(frozen=True, slots=True)
class Rows:
    """Settings of a member."""

    token: str = secret("A secret.", "THE_TOKEN")
    count: int | None = row(number(1, 9), "How many.", environment="THE_COUNT")
    wait: timedelta | None = row(
        time_between(timedelta(seconds=1), timedelta(minutes=1)), "How long.", environment="THE_WAIT"
    )
    really: bool | None = row(FLAG, "Whether.", environment="REALLY", toml="member.really")


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"THE_COUNT": "ten"}, 'THE_COUNT is "ten"; it should be a whole number from 1 to 9. How many.'),
        ({"THE_COUNT": "٣"}, "THE_COUNT is"),
        ({"THE_COUNT": "9" * 9000}, "THE_COUNT is"),
        ({"THE_WAIT": "soon"}, 'THE_WAIT is "soon"; it should be a time like "30s" or "2m".'),
        ({"REALLY": "\x1b[31m"}, 'REALLY is "\\x1b[31m"; it should be true or false.'),
    ],
)
def test_slip_in_the_environment_is_told(tmp_path: Path, environment: dict[str, str], says: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.load({}, environment, tmp_path, members={"member": Rows})
    assert str(refused.value).startswith(says)


def test_secret_is_never_shown(tmp_path: Path) -> None:
    settings = Settings.load({}, {"THE_TOKEN": "hunter2"}, tmp_path, members={"member": Rows})
    assert settings.of(Rows).token == "hunter2"
    assert [one.shown for one in settings.given if one.key.name.startswith("member_")] == ["********", "", "", ""]
    assert "hunter2" not in repr(settings)

    @dataclass(frozen=True, slots=True)
    class Number:
        n: int = row(number(), "N.", environment="N", secret=True)

    with pytest.raises(SettingsError) as refused:
        Settings.load({}, {"N": "hunter2"}, tmp_path, members={"number": Number})
    assert "hunter2" not in str(refused.value)


def test_no_secret_is_in_a_repr(tmp_path: Path) -> None:
    rows = [key for of_table in all_keys(settings_of()).values() for key in of_table.values() if key.secret]
    environment = {key.environment: f"hunter-{key.name}" for key in rows}
    settings = Settings.load({}, environment, tmp_path, HOME, {**settings_of(), "capture": CaptureSettings})
    assert len(settings.secrets) == len(rows)
    assert "hunter" not in repr(settings)


def test_values_are_shown_as_they_are_written(tmp_path: Path) -> None:
    settings = load(tmp_path, '[check]\ndeadline = "90s"\n', ZOMBIE_PLAYBOOKS="/a:/b")
    shown = {one.key.name: one.shown for one in settings.given}
    assert (shown["deadline"], shown["playbooks"], shown["samples"], shown["inventory"]) == ("90s", "/a, /b", "5", "")


def test_secrets_are_told_word_by_word_to_whoever_must_hide_them(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        ZOMBIE_DATABASE_URL="postgresql://bot:hunter2@db/z",
        PAGERDUTY_WEBHOOK_SECRETS="first, second",
        SLACK_BOT_TOKEN="xoxb-[",
        ZOMBIE_LISTEN="127.0.0.1:1",
    )
    assert {"hunter2", "first", "second", "xoxb-["} <= set(settings.secrets)
    assert not {"127.0.0.1:1", ""} & set(settings.secrets)


def test_every_row_says_what_it_is_for() -> None:
    keys = [key for of_table in all_keys(settings_of()).values() for key in of_table.values()]
    assert all(key.help.endswith(".") for key in keys)
    assert len({key.name for key in keys}) == len(keys)


@pytest.mark.parametrize(
    ("environment", "url"),
    [
        ({"ZOMBIE_DATABASE_URL": "postgresql://db/z", "ZOMBIE_STATE_DIR": "/s"}, "postgresql://db/z"),
        ({"ZOMBIE_STATE_DIR": "/s", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "sqlite:////s/zombie.db"),
        ({"XDG_STATE_HOME": "/x", "HOME": "/h"}, "sqlite:////x/zombie/zombie.db"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/h"}, "sqlite:////h/.local/state/zombie/zombie.db"),
        ({"HOME": "/h"}, "sqlite:////h/.local/state/zombie/zombie.db"),
        ({"ZOMBIE_DATABASE_URL": " ", "ZOMBIE_STATE_DIR": "here"}, "sqlite:////work/here/zombie.db"),
    ],
)
def test_record_is_where_the_environment_says(environment: dict[str, str], url: str) -> None:
    assert database_url(environment, Path("/work")) == url


@pytest.mark.parametrize(
    ("url", "used"),
    [
        ("postgresql://zombie@db/z", "postgresql://zombie:p%40s%2Fs%20%25%3A@db/z"),
        (
            "postgresql+psycopg://zombie:@db:5433/z?sslmode=require",
            "postgresql+psycopg://zombie:p%40s%2Fs%20%25%3A@db:5433/z?sslmode=require",
        ),
        ("postgresql://zombie:its-own@db/z", "postgresql://zombie:its-own@db/z"),
        ("postgresql://db/z", "postgresql://db/z"),
        ("sqlite:////s/zombie.db", "sqlite:////s/zombie.db"),
    ],
)
def test_password_of_a_file_is_that_of_a_url_without_one(tmp_path: Path, url: str, used: str) -> None:
    (tmp_path / "ZOMBIE_DATABASE_PASSWORD").write_text("p@s/s %:\n")
    environment = {"CREDENTIALS_DIRECTORY": str(tmp_path), "ZOMBIE_DATABASE_URL": url}
    assert database_url(environment, tmp_path) == used
    assert {"p@s/s %:", "p%40s%2Fs%20%25%3A"} <= set(Settings.load({}, environment, tmp_path).secrets)


def test_secret_may_be_a_file_of_its_name_and_the_environment_comes_first(tmp_path: Path) -> None:
    (tmp_path / "SLACK_BOT_TOKEN").write_text("xoxb-from-a-file\n")
    (tmp_path / "ZOMBIE_LISTEN").write_text("0.0.0.0:1\n")
    settings = load(tmp_path, CREDENTIALS_DIRECTORY=str(tmp_path))
    assert settings.slack.access[0] == "xoxb-from-a-file"
    assert "xoxb-from-a-file" in settings.secrets
    assert "CREDENTIALS_DIRECTORY/SLACK_BOT_TOKEN" in origins(settings).values()
    assert settings.listen == "127.0.0.1:8080", "no secret"
    named = load(tmp_path, CREDENTIALS_DIRECTORY=str(tmp_path), SLACK_BOT_TOKEN="xoxb-named")
    assert named.slack.access[0] == "xoxb-named"
    (tmp_path / "ZOMBIE_DATABASE_URL").write_text("postgresql://db/zombie\n")
    assert database_url({"CREDENTIALS_DIRECTORY": str(tmp_path), "HOME": "/x"}) == "postgresql://db/zombie"


def test_secret_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "SLACK_BOT_TOKEN").mkdir()
    with pytest.raises(SettingsError, match=f"The file {tmp_path}/SLACK_BOT_TOKEN, which holds SLACK_BOT_TOKEN"):
        load(tmp_path, CREDENTIALS_DIRECTORY=str(tmp_path))
