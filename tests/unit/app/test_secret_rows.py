"""A site's own rows of secrets: added to ours, checked with file and line, and never in place of one of ours."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.app.factories import library
from bot.domain import secret_forms
from bot.domain.entry import Head
from bot.domain.errors import PlaybookError
from bot.domain.house_events import HOUSE, BrakePulled
from bot.domain.safe_text import redacted_text
from bot.ledger.entries import chained_entry

ROW = """[acme-key]
form = 'acme:(?P<secret>[a-z0-9]{6,40})'
has = ["acme:"]
says = "Acme key"
seen = ["acme:«fake01»"]
never = ["acme: none"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "tables").mkdir()
    yield tmp_path
    secret_forms.FORMS_OF_SITES.clear()


def written(folder: Path, text: str) -> Path:
    (folder / "tables" / "secrets.toml").write_text(text)
    return folder


def test_site_adds_a_form_and_ours_stay(folder: Path) -> None:
    assert redacted_text("x acme:fake01 y") == "x acme:fake01 y"
    library([written(folder, ROW)])
    assert redacted_text("x acme:fake01 y password=hunter2") == "x acme:[redacted: Acme key] y password=[redacted]"
    library([folder])  # twice is once
    assert redacted_text(redacted_text("acme:fake01")) == "acme:[redacted: Acme key]"


def test_form_that_a_site_adds_is_cut_out_of_every_later_entry(folder: Path) -> None:
    def reason() -> object:
        pulled = BrakePulled("x acme:fake01 y")
        return chained_entry(HOUSE, Head(), "2026-11-21T10:00:00.000Z", pulled, "bot").body["reason"]

    assert reason() == "x acme:fake01 y"
    library([written(folder, ROW)])
    assert reason() == "x acme:[redacted: Acme key] y"


def test_folder_without_a_table_adds_nothing(tmp_path: Path) -> None:
    before = len(secret_forms.table().forms)
    library([tmp_path])
    assert len(secret_forms.table().forms) == before


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("[acme-key]", "[aws-key]"), 'secrets.toml:1: a row of ours is called "aws-key"'),
        (
            ("form = 'acme:(?P<secret>[a-z0-9]{6,40})'", "form = '(?<=a)b'"),
            "secrets.toml:2: form is not an RE2 expression",
        ),
        (("«fake01»", "«-»"), 'secrets.toml:5: form does not find "acme:«-»"'),
        (("«fake01»", "fake01"), "secrets.toml:5: write the secret"),
        (("[a-z0-9]{6,40}", ".{6}"), "secrets.toml:5: form finds something again"),
        (
            ("acme:(?P<secret>[a-z0-9]{6,40})", "Acme key"),
            "secrets.toml:2: form is found in an empty text or",
        ),
        (('"Acme key"', '"]x <!channel>"'), "secrets.toml:4: says should be a few words"),
        ((ROW, '\nacme={form="acme:x",has=["acme:"],seen=["acme:«y»"]}'), "secrets.toml:2: form does not find"),
        (('["acme: none"]', '["acme:fake02"]'), 'secrets.toml:6: form finds "acme:fake02"'),
        (('["acme:"]', '"acme:"'), "secrets.toml:3: has should be a list of texts"),
    ],
)
def test_fault_is_told_with_its_line(folder: Path, change: tuple[str, str], says: str) -> None:
    with pytest.raises(PlaybookError) as refused:
        library([written(folder, ROW.replace(*change))])
    assert any(says in line for line in str(refused.value).splitlines()), str(refused.value)
    assert len(secret_forms.table().forms) == len(secret_forms.own_names())


def test_group_that_takes_no_part_or_is_empty_cuts_nothing(folder: Path) -> None:
    row = ROW.replace("acme:(?P<secret>[a-z0-9]{6,40})", "acme:(?:none|(?P<secret>[a-z0-9]*))")
    library([written(folder, row.replace('never = ["acme: none"]', 'never = ["acme:none", "acme:"]'))])
    assert redacted_text("acme:none acme: acme:fake01") == "acme:none acme: acme:[redacted: Acme key]"


def test_lone_surrogate_is_read_and_what_stands_beside_it_is_found(folder: Path) -> None:
    library([written(folder, ROW)])
    assert redacted_text("\ud800 é 𝒳 acme:fake01") == "\ud800 é 𝒳 acme:[redacted: Acme key]"
