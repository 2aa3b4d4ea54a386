"""`zombie profile --from`: a text of perf script in, words, JSON or folded stacks out."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from pathlib import Path

import pytest

from tests.commandline import CommandLine
from tests.unit.extras.profiles.making import event

SHAPES = Path(__file__).parents[2] / "captures" / "profile" / "shapes.txt"
FOLDED = SHAPES.with_suffix(".folded").read_text()


def test_words_name_the_function_of_the_core(run: CommandLine) -> None:
    status, said, _ = run("profile", "--from", str(SHAPES), "--core", "39")
    assert status == 0
    assert said.startswith("Core 39 ran kubelet (2317) in mem_cgroup_nr_lru_pages for 100% of its 2 samples.")
    assert "selected: core 39" in said


def test_folded_comes_from_gzip_and_from_stdin(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("perf.txt.gz").write_bytes(gzip.compress(SHAPES.read_bytes()))
    assert run("profile", "--from", "perf.txt.gz", "--format", "folded")[:2] == (0, FOLDED)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(SHAPES.read_bytes()))))
    assert run("profile", "--from", "-", "--format", "folded", "--out", "folded").status == 0
    assert Path("folded").read_text() == FOLDED


def test_json_is_the_document_and_between_is_counted_from_the_earliest(run: CommandLine) -> None:
    lines = SHAPES.read_text().split("\n\n")
    Path("late-first.txt").write_text("\n\n".join([lines[8], *lines[:8], *lines[9:]]))
    said = run("profile", "--from", "late-first.txt", "--format", "json", "--between", "0", "1")
    document = said.json
    assert (document["schema"], document["events"], document["samples"]) == (1, 10, 7)
    assert run("profile", "--from", "late-first.txt", "--json", "--between", "0", "1") == said


def test_what_selects_nothing_is_not_taken_for_idle(run: CommandLine) -> None:
    status, said, _ = run("profile", "--from", str(SHAPES), "--core", "99")
    assert status == 0
    assert said.startswith("Nothing is known of that: none of 10 samples was selected.")
    assert "idle" not in said
    assert "selected: core 99" in said


def test_difference_to_another_file_is_drawn_and_its_name_is_told(run: CommandLine) -> None:
    calm, pages = Path("calm.txt"), [Path("more.html"), Path("same.html")]
    calm.write_text(event("mem_cgroup_nr_lru_pages", comm="other"))
    for against, page in zip((calm, SHAPES), pages, strict=True):
        words = ("profile", "--from", str(SHAPES), "--format", "html", "--against", str(against), "--out", str(page))
        assert run(*words).status == 0
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
        (["--from", __file__], "not a profile"),
        (["--from", str(SHAPES), "--between", "3", "2"], "lower first"),
        (["--from", str(SHAPES), "--json", "--format", "svg"], "two outputs"),
        (["node-1", "--format", "svg"], "zombie profile --from FILE --format"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(run: CommandLine, arguments: list[str], says: str) -> None:
    status, _, err = run("profile", *arguments)
    assert (status, says in err) == (2, True)


def test_node_that_nobody_reached_leaves_no_file_that_looks_like_a_profile(run: CommandLine) -> None:
    run.unreachable("n1")
    ran = run("profile", "n1", "--seconds", "5", "--out", "kept", "--format", "json")
    assert (ran.status, ran.json["nodes"][0]["status"]) == (4, "unreachable")
    assert list(Path("kept").iterdir()) == []
