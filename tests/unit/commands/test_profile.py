"""`zombie profile --from`: a text of perf script in, words, JSON or folded stacks out."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from pathlib import Path

import pytest

from bot.__main__ import main
from tests.unit.extras.profiles.making import event

SHAPES = Path(__file__).parents[2] / "captures" / "profile" / "shapes.txt"
FOLDED = SHAPES.with_suffix(".folded").read_text()


def test_words_name_the_function_of_the_core(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "--from", str(SHAPES), "--core", "39"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Core 39 ran kubelet (2317) in mem_cgroup_nr_lru_pages for 100% of its 2 samples.")
    assert "selected: core 39" in said


def test_folded_comes_from_gzip_and_from_stdin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "perf.txt.gz"
    packed.write_bytes(gzip.compress(SHAPES.read_bytes()))
    assert main(["profile", "--from", str(packed), "--format", "folded"]) == 0
    assert capsys.readouterr().out == FOLDED
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(SHAPES.read_bytes()))))
    assert main(["profile", "--from", "-", "--format", "folded", "--out", str(tmp_path / "folded")]) == 0
    assert (tmp_path / "folded").read_text() == FOLDED


def test_json_is_the_document_and_between_is_counted_from_the_earliest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    late_first = tmp_path / "late-first.txt"
    lines = SHAPES.read_text().split("\n\n")
    late_first.write_text("\n\n".join([lines[8], *lines[:8], *lines[9:]]))
    assert main(["profile", "--from", str(late_first), "--format", "json", "--between", "0", "1"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["events"], document["samples"]) == (1, 10, 7)
    assert main(["profile", "--from", str(late_first), "--json", "--between", "0", "1"]) == 0
    assert json.loads(capsys.readouterr().out) == document


def test_what_selects_nothing_is_not_taken_for_idle(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "--from", str(SHAPES), "--core", "99"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Nothing is known of that: none of 10 samples was selected.")
    assert "idle" not in said
    assert "selected: core 99" in said


def test_difference_to_another_file_is_drawn_and_its_name_is_told(tmp_path: Path) -> None:
    calm, pages = tmp_path / "calm.txt", [tmp_path / "more.html", tmp_path / "same.html"]
    calm.write_text(event("mem_cgroup_nr_lru_pages", comm="other"))
    for against, page in zip((calm, SHAPES), pages, strict=True):
        words = ("profile", "--from", str(SHAPES), "--format", "html", "--against", str(against), "--out", str(page))
        assert main(words) == 0
    more, same = (page.read_text() for page in pages)
    assert "Orange is more and blue less than in calm.txt" in more
    found = [re.search(r'id="told">(.*?)</script>', page) for page in (more, same)]
    deltas = [json.loads(told[1])["deltas"] for told in found if told is not None]
    assert min(deltas[0]) < 0 < max(deltas[0])
    assert set(deltas[1]) == {0}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "no profile to read"),
        (["--from", "/nowhere/perf.txt"], "cannot be read"),
        (["--from", "/"], "cannot be read"),
        (["--from", __file__], "not a profile"),
        (["--from", str(SHAPES), "--between", "3", "2"], "lower first"),
        (["--from", str(SHAPES), "--between", "nan", "2"], "lower first"),
        (["--from", str(SHAPES), "--json", "--format", "svg"], "two outputs"),
        (["node-1", "--format", "svg"], "zombie profile --from FILE --format"),
        (["node-1", "--against", str(SHAPES)], "zombie profile --from FILE --format"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_node_that_nobody_reached_leaves_no_file_that_looks_like_a_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "known_hosts").touch()
    nodes = '[ssh]\nknown_hosts = "known_hosts"\n[nodes.n1]\naddress = "127.0.0.1"\nport = 1\n'
    (tmp_path / "inventory.toml").write_text(nodes)
    assert main(["profile", "n1", "--seconds", "5", "--out", "kept", "--format", "json"]) == 4
    assert json.loads(capsys.readouterr().out)["nodes"][0]["status"] == "unreachable"
    assert list((tmp_path / "kept").iterdir()) == []
