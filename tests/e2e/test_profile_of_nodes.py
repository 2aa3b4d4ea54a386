"""`zombie profile NODE` as a person runs it: against simulated nodes behind real SSH, and a port that refuses."""

import asyncio
import gzip
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bot.demo.fleet import FLEET, Member, running
from bot.demo.fleet_leaks import AUTO_RESTART
from tests.program import awaited

MEMBERS = (
    FLEET[0],
    Member(replace(AUTO_RESTART, name="without-perf", perf=False), "", "gpu"),
    Member(replace(AUTO_RESTART, name="without-rights", sudo=False), "", "gpu"),
)


async def zombie(folder: Path, *words: str) -> tuple[int, str, str]:
    async with running(MEMBERS, folder, lambda: datetime.now(UTC)) as fleet:
        with fleet.inventory.open("a") as file:
            file.write('\n[nodes.closed]\naddress = "127.0.0.1"\nport = 1\n')
        done = await awaited("profile", *words, "--inventory", str(fleet.inventory))
        return done.returncode, done.stdout, done.stderr


def test_the_founding_node_names_the_function_and_keeps_what_perf_told(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    status, out, err = asyncio.run(zombie(tmp_path, "ray-gpu-1a-0417", "--seconds", "5", "--out", str(kept)))
    assert status == 0, err
    assert out.startswith("Core 39 ran kubelet (2114) in mem_cgroup_nr_lru_pages for 9"), out
    assert "the kernel log's clock is +0.000 s" in out
    text = gzip.decompress((kept / "ray-gpu-1a-0417.perf.txt.gz").read_bytes()).decode()
    assert text.startswith("# synthetic: made by a simulated node")


def test_the_document_says_of_each_node_what_came_of_it(tmp_path: Path) -> None:
    nodes = ("ray-gpu-1a-0417", "without-perf", "without-rights", "closed")
    status, out, err = asyncio.run(zombie(tmp_path, *nodes, "--seconds", "5", "--json"))
    assert status == 4, err
    body = json.loads(out)
    assert body["schema"] == 1
    assert [node["node"] for node in body["nodes"]] == list(nodes)
    read, no_perf, no_rights, closed = body["nodes"]
    assert read["hot"]["function"] == "mem_cgroup_nr_lru_pages"
    assert read["hot"]["core"] == 39
    assert read["capture"]["load_percent"] < 5
    assert read["capture"]["kernel_log"]["error"] < 0.01
    assert no_perf["reason"] == "perf is missing"
    assert "linux-tools" in no_perf["try"]
    assert "zombie sudoers --profile" in no_rights["try"]
    assert closed["status"] == "unreachable"


def test_what_is_missing_is_3_and_other_lengths_are_refused_naming_these(tmp_path: Path) -> None:
    status, out, _ = asyncio.run(zombie(tmp_path, "without-perf"))
    assert status == 3
    assert out.startswith("without-perf: perf is missing")
    for words, named in ((("--seconds", "7"), "5, 10, 30 or 60"), (("--hz", "997"), "49 or 99")):
        status, _, err = asyncio.run(zombie(tmp_path, "without-perf", *words))
        assert status == 2
        assert named in err
