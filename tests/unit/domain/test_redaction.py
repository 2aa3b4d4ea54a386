"""Secrets are taken out before anything is kept; what only looks a little like one stays."""

import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.safe_text import Redactor, redacted, redacted_text, safe
from bot.domain.secret_forms import SecretTable, ShortTexts, table
from tests.examples import up_to
from tests.readings.secrets import Seeded, seeded

# Put together here, so that no line of this file looks like a leaked secret to a scanner.
AWS_ID = "AKIA" + "IOSFODNN7EXAMPLE"
AWS_SECRET = "/wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"
BOT_TOKEN = "xoxb-" + "2345678901-abcdefGHIJKL"
APP_TOKEN = "xapp-" + "1-A0123-456-abcdef0123"
GITHUB = "ghp_" + "0123456789abcdefghijklmnopqrstuvwxyz"
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0.c2lnbmF0dXJl"
KEY = [
    "-----BEGIN OPENSSH PRIVATE " + "KEY-----",
    "b3BlbnNzaC1rZXk",
    "AAAAB3Nza",
    "-----END OPENSSH PRIVATE " + "KEY-----",
]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"id {AWS_ID} seen", "id [redacted: AWS key] seen"),
        (f"aws_secret_access_key = {AWS_SECRET}", "aws_secret_access_key = [redacted]"),
        ("Authorization: Bearer abc.DEF-123456", "Authorization: Bearer [redacted: bearer token]"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted]"),
        (f"SLACK={BOT_TOKEN}.", "SLACK=[redacted: Slack token]."),
        (f"{APP_TOKEN}", "[redacted: Slack token]"),
        ("https://hooks.slack.com/services/T0/B0/abc", "https://hooks.slack.com/[redacted: Slack webhook]"),
        (GITHUB, "[redacted: GitHub token]"),
        (f"cookie {JWT};", "cookie [redacted: JSON web token];"),
        ("\n".join(["a", *KEY, "b"]), "a\n[redacted: private key]\nb"),
        (f"{KEY[0]} cut off here", "[redacted: private key]"),
        ("password=hunter2;host=db", "password=[redacted];host=db"),
        ("Password : 'two words' x", "Password : '[redacted]' x"),
        ('{"db_password": "x\\"y", "a": 1}', '{"db_password": "[redacted]", "a": 1}'),
        ('{\\"password\\": \\"hunter2\\"}', '{\\"password\\": \\"[redacted]\\"}'),
        ("API_KEY=abc SECRET_TOKEN=def", "API_KEY=[redacted] SECRET_TOKEN=[redacted]"),
        ("mysql --password hunter2 -h db", "mysql --password [redacted] -h db"),
        ("agent --registry-token=abc run", "agent --registry-token=[redacted] run"),
        ("postgresql://bot:p%40ss@db/x", "postgresql://bot:[redacted]@db/x"),
    ],
)
def test_secret_is_taken_out(text: str, kept: str) -> None:
    assert redacted_text(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        f"sha256:{hashlib.sha256(b'image').hexdigest()}",
        "/kubepods/burstable/pod3b1cd2f4-71f5-4b0e-9c0c-0f7b6e1a2b3c/5d1f0a",
        "sudo: ann : TTY=pts/0 ; PWD=/root ; USER=root ; COMMAND=/usr/bin/dmesg",
        "zombie ALL=(root) NOPASSWD: /usr/bin/systemctl disable --now -- ecs.service",
        "PasswordAuthentication no",
        "PasswordAuthentication=no",
        "Failed password for root from 10.0.0.9 port 51234 ssh2",
        "bearer authentication failed",
        "secretName: registry",
        'MountVolume.SetUp failed for volume "x" : secret "registry" not found',
        "http://10.0.0.7:8080/path@version",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGq0",
        "ena 0000:00:05.0 eth0: Reset device, reason 8",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redacted_text(text) == text


def test_value_is_judged_by_its_name_too() -> None:
    body = {"args": {"token": "abc", "unit": "ecs.service", "db-password": "x", "tokens": 3}, "digest": "ab" * 32}
    assert redacted(body) == {
        "args": {"token": "[redacted]", "unit": "ecs.service", "db-password": "[redacted]", "tokens": 3},
        "digest": "ab" * 32,
    }


_around = st.text(st.characters(codec="utf-8", exclude_characters="[]"), max_size=30)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40) | st.sampled_from([BOT_TOKEN, AWS_ID, *KEY]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=up_to(300), deadline=None)
@given(_around, _around, st.sampled_from([BOT_TOKEN, APP_TOKEN, AWS_ID, "password=hunter2", f"Bearer {GITHUB}", JWT]))
def test_secret_is_found_wherever_it_stands(before: str, after: str, secret: str) -> None:
    assert secret not in redacted_text(f"{before} {secret} {after}")


@settings(max_examples=up_to(300), deadline=None)
@given(_json)
def test_redacting_twice_changes_nothing_more(value: object) -> None:
    once = redacted(value)
    assert redacted(once) == once


@settings(max_examples=up_to(300), deadline=None)
@given(st.text("passwordtkeny=:\"'\\ -_.0A/@", max_size=80))
def test_redacting_text_full_of_names_and_signs_twice_changes_nothing_more(text: str) -> None:
    once = redacted_text(text)
    assert redacted_text(once) == once


@pytest.mark.parametrize("one", seeded(0), ids=lambda one: one.kind)
def test_every_kind_of_secret_is_taken_out(one: Seeded) -> None:
    assert [word for word in one.hidden if word in redacted_text(one.text)] == []
    assert one.hidden, "a row that hides nothing tests nothing"
    assert all(word in one.text for word in one.hidden)


@pytest.mark.parametrize("sign", [*map(chr, range(0x20)), "\x7f", "\x80", "\u200b"], ids=ascii)
def test_sign_that_shows_nothing_before_a_secret_moves_no_cut(sign: str) -> None:
    text = redacted_text(f'a{sign} {{"password": "hunter2 hunter2", "event": "trigger"}} ')
    assert text == f'a{sign} {{"password": "[redacted]", "event": "trigger"}} '


@settings(max_examples=up_to(80), deadline=None)
@given(st.integers(1, 2**32), _around, _around)
def test_secrets_are_taken_out_whatever_they_are_and_once_is_enough(seed: int, before: str, after: str) -> None:
    for one in seeded(seed):
        kept = redacted_text(f"{before} {one.text} {after}")
        assert [word for word in one.hidden if word in kept] == [], one.kind
        assert redacted_text(kept) == kept


@pytest.mark.parametrize("limit", [200, 30, 21])
def test_secret_in_a_line_that_was_cut_is_taken_out(limit: int) -> None:
    line = ('password="' + "correct horse battery staple " * 10)[:limit]
    assert redacted_text(line) == 'password="[redacted]'


def test_secret_in_a_block_is_found_in_a_list() -> None:
    assert redacted(["password: |", "  hunter2", "user: ann"]) == ["password: [redacted]", "[redacted]", "user: ann"]


UUID = "01234567-89ab-cdef-0123-456789abcdef"


@pytest.mark.parametrize(
    ("lines", "gone"),
    [
        (["mysql", "-u", "root", "-phunter2", "orders"], [3]),
        (["agent", "--api-token", "hunter2", "--port", "80"], [2]),
        (["agent", "-password", "hunter2", "--token-ttl", "24h", "--passthrough", "x"], [2]),
        (["- name: DB_PASSWORD", "  value: hunter2", "- name: PORT", "  value: 80"], [1]),
        (["- ParameterKey: DBPassword", "  ParameterValue: hunter2"], [1]),
        (['variable "client_secret" {', "  type = string", '  default = "hunter2"', "}"], [2]),
        (['variable "token_ttl" {', "  default = 4096"], []),
        (['variable "token_ttl" {', "x"], []),
        (["<name>db.password</name>", "<description>x</description>", "<value>hunter2 a</value>"], [2]),
        (["+ echo -n hunter2", "+ cryptsetup luksOpen x"], [0]),
        (["tokens:", f"  agent: {UUID}", f"  default: {UUID}", "x: y"], [1, 2]),
        (["tokens {", f'  agent = "{UUID}"', f'  dns = "{UUID}"', "}", f'agent = "{UUID}"'], [1, 2]),
        (["sshpass", "-p", "hunter2", "ssh", "node-1"], [2]),
        (["login: ann", "Password: ", "hunter2", "Last login: Mon"], [2]),
        (["username", "ann", "password", "hunter2"], [3]),
        (["name,password,note", "ann,hunter2,x", "bob,calvin,y", "that was all"], [1, 2]),
        (["psql[4]: | user | password |", "psql[4]: |------+----------|", "psql[4]: | ann  | hunter2  |"], [2]),
        (["passwords:", "  ann: hunter2", "  bob: calvin", "x: y"], [1, 2]),
        (["<Password>", "  <Value>hunter2</Value>", "</Password>"], [1]),
        (["stringData:", "  db: hunter2", "  api: calvin"], [1, 2]),
        (["a node", "-v", "name,age", "ann,4"], []),
        (["node-1", "-n", "node-2"], []),
    ],
)
def test_secret_whose_name_stands_in_another_line_is_found(lines: list[str], gone: list[int]) -> None:
    for kept in (redacted(lines), redacted_text("\n".join(lines)).split("\n")):
        assert [number for number, line in enumerate(lines) if kept[number] != line] == gone
        assert [line for line in kept if "hunter2" in line or "calvin" in line] == []
        assert redacted(kept) == kept


@pytest.mark.parametrize("depth", range(6))
def test_quotes_within_quotes_hide_no_secret_however_often(depth: int) -> None:
    text = json.dumps({"password": "hunter2 x", "user": "ann"})
    for _ in range(depth):
        text = json.dumps({"log": text})
    kept = redacted_text(text)
    assert "hunter2" not in kept
    for _ in range(depth):
        kept = json.loads(kept)["log"]
    assert json.loads(kept) == {"password": "[redacted]", "user": "ann"}


def test_what_only_its_block_makes_a_secret_stays_in_other_lines() -> None:
    for block, line, cut in (
        ('{"secret":{"rack":"gpu-node-017"}}', "kernel: gpu-node-017 nvme0: I/O error", False),
        ('{"secrets":["NVSwitch0Port12"]}', "fabricmanager: NVSwitch0Port12 fatal", False),
        ('{"secret":{"db":"Fake01fakefake"}}', "login Fake01fakefake", True),
        ('{"passwords":{"ann":"hunter2"}}', "login hunter2", True),
    ):
        first, second = redacted([block, line])
        assert "[redacted]" in first
        assert ("[redacted]" in second) is cut


def test_secret_of_a_mapping_is_found_by_the_name_beside_it_and_in_its_list() -> None:
    assert redacted([{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "PORT", "value": "80"}]) == [
        {"name": "DB_PASSWORD", "value": "[redacted]"},
        {"name": "PORT", "value": "80"},
    ]
    assert redacted({"clientSecret": "x", "tokens": ["y"], "token": ["z", 3], "host_key": "SHA256:a"}) == {
        "clientSecret": "[redacted]",
        "tokens": ["y"],
        "token": ["[redacted]", 3],
        "host_key": "SHA256:a",
    }


LINES = [
    *(line for secret in seeded(7) for line in secret.text.splitlines()),
    *KEY,
    *("--token", "--no-pager", "password: |", "name: db_password", '"name": "apiKey"', "value: x", '"value": "y"'),
    *("token", "name", "key", "value", "secret_key", "", "eth0", "a line"),
]
_texts = st.sampled_from(LINES)
_values = st.recursive(
    st.one_of(_texts, st.integers(), st.none(), st.booleans()),
    lambda inner: st.one_of(st.lists(inner, max_size=6), st.dictionaries(_texts, inner, max_size=5)),
    max_leaves=20,
)


@given(st.lists(_values, min_size=1, max_size=4))
def test_what_was_redacted_before_changes_nothing(values: list[object]) -> None:
    redactor = Redactor()
    for value in [*values, *values]:
        assert redactor.value(value) == redacted(value)


def test_redactor_remembers_no_secret_and_only_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.domain.secret_forms._MOST_REMEMBERED", 400)
    redactor = Redactor()
    secrets = seeded(11)
    redactor.value([secret.text for secret in secrets])
    redactor.value({secret.text: secret.text for secret in secrets})
    remembered = " ".join([*redactor.searched_texts()])
    assert [secret.kind for secret in secrets if any(word in remembered for word in secret.hidden)] == []
    redactor.value([f"line {number}" for number in range(1000)])
    redactor.value({f"name {number}": "x" for number in range(1000)})
    assert 0 < len([*redactor.searched_texts()]) <= 500
    redactor.value(["x" * 10_000])
    assert max(map(len, redactor.searched_texts())) < 1000


def test_secret_goes_wherever_else_it_stands() -> None:
    lines = ["user calvin9 of node-1", "db_password=calvin9", "calvin9x stays, calvin9 goes"]
    kept = ["user [redacted] of node-1", "db_password=[redacted]", "calvin9x stays, [redacted] goes"]
    assert redacted(lines) == kept
    assert redacted_text("\n".join(lines)) == "\n".join(kept)
    assert redacted_text("password=hobbes; x ran as hobbes") == "password=[redacted]; x ran as hobbes"
    traced = ["+ DB_PW=hobbes", "+ '[' -z hobbes ']'", "hobbes stays"]
    assert redacted(traced) == ["+ DB_PW=[redacted]", "+ '[' -z [redacted] ']'", "hobbes stays"]
    deployed = ["+ deploy --rpcauth calvin9 -v", "worker: retry with calvin9 failed"]
    assert redacted(deployed) == ["+ deploy --rpcauth [redacted] -v", "worker: retry with [redacted] failed"]
    guessed = ["a password, calvin9, was provided", "calvin9 is not ready"]
    assert redacted(guessed) == ["a password, [redacted], was provided", "calvin9 is not ready"], "it may be a name"


def test_flag_and_its_value_on_a_continued_line() -> None:
    assert redacted(["x --db.password \\", "  Fake-Wheel-6 \\", "  -v"])[1:] == ["[redacted]", "  -v"]


def test_tokens_of_a_block_go_in_structure() -> None:
    held = {"agent": UUID, "default": "anonymous", "dns": UUID, "initial_management": UUID}
    gone = {"tokens": dict.fromkeys(held, "[redacted]")}
    assert redacted({"acl": {"tokens": held}, "encrypt": "RmFrZUZha2VGYWtlRmFrZQ=="}) == {
        "acl": gone,
        "encrypt": "[redacted]",
    }
    counted = {"tokens": {"input": 5, "agent": "node-1"}, "encrypt": True}
    assert redacted(counted) == counted


def test_secret_id_goes_and_its_accessor_stays() -> None:
    row = {"Secret ID": UUID, "SecretID": UUID, "AccessorID": UUID, "secret_id_accessor": UUID}
    assert redacted(row) == row | dict.fromkeys(["Secret ID", "SecretID"], "[redacted]")


def test_short_texts_are_few_and_short() -> None:
    known = ShortTexts[None]()
    for number in range(20_000):
        known.remember(f"{number}", None)
    known.remember("a" * 1000, None)
    assert 0 < len(known) <= 16_384
    assert "19999" in known
    assert max(map(len, known)) < 1000


def test_table_remembers_no_text_with_a_secret() -> None:
    own = SecretTable(table().forms, table().parts)
    for text in ("mysql --password hunter2", "an ordinary line of this test"):
        own.cut(text)
    assert [*own._clean] == ["an ordinary line of this test"]


def test_long_text_without_secrets_is_searched_once_and_one_with_a_secret_each_time() -> None:
    shared, said = table(), "an ordinary line of what a node said\n" * 40
    assert shared.cut(said) == said
    known = len(shared._clean)
    assert shared.cut(said) == said
    assert max(map(len, shared._clean)) < 1000, "the text itself is not kept"
    for _ in range(2):
        assert shared.cut(f"{said}mysql --password hunter2") == f"{said}mysql --password [redacted]"
    assert len(shared._clean) == known


@pytest.mark.slow
def test_every_sign_that_nobody_sees_is_a_blank_to_the_search() -> None:
    """All but one block of 4,096 signs, of which each 64th is asked, and its ends."""
    every = [*map(chr, range(1, 0xE0000)), *map(chr, range(0xE0000, 0xE1000, 64)), *map(chr, range(0xE0FFF, 0x110000))]
    unseen = [sign for sign in every if safe(sign) != sign and not "\ud800" <= sign <= "\udfff"]
    assert len(unseen) > 200
    signs = [*map(safe, unseen), *(sign for sign in unseen if sign > "\x7f")]
    lines = [f"password{sign}{sign} = hunter{number}z" for number, sign in enumerate(signs)]
    texts = ["\n".join(lines[at : at + 100]) for at in range(0, len(lines), 100)]
    assert [line for text in texts for line in redacted_text(text).split("\n") if "hunter" in line] == []


def test_name_of_a_secret_that_a_volume_mounts_stays() -> None:
    volume = {"name": "tls", "secret": {"defaultMode": 420, "secretName": "webhook-server-cert"}}
    assert redacted({"volumes": [volume]}) == {"volumes": [volume]}
