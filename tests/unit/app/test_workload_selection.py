"""Where a workload runs, as a cluster says it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from bot.app.workload_selection import nodes_that_run
from bot.domain.cluster_call import ApiAnswer, Call
from bot.domain.errors import UsageError
from bot.domain.machine_listing import CannotList, Place
from bot.domain.selector import Selector
from bot.inventory.cluster_nodes import lister


class Answering:
    """A cluster's API with one answer."""

    def __init__(self, body: str, status: int = 200) -> None:
        self._body = body
        self._status = status

    async def call(self, cluster: str, call: Call, limit: timedelta) -> ApiAnswer:
        return ApiAnswer(self._status, self._body)

    async def close(self) -> None: ...


POD = '{"spec":{"nodeName":"n1"}}'


async def test_workload_runs_where_the_whole_list_says() -> None:
    api = Answering(f'{{"kind":"PodList","metadata":{{}},"items":[{POD},{POD}]}}')
    assert await nodes_that_run(api, "prod", [Selector.of("job/train")]) == {"job/train": ("n1",)}


@pytest.mark.parametrize(
    "body",
    [
        f'{{"kind":"PodList","metadata":{{"continue":"eyJ2"}},"items":[{POD}]}}',
        '{"kind":"PodList","metadata":{}}',
        "{",
    ],
)
async def test_list_that_is_not_whole_selects_no_node(body: str) -> None:
    with pytest.raises(UsageError, match="does not say where job/train runs"):
        await nodes_that_run(Answering(body), "prod", [Selector.of("job/train")])


async def test_what_a_proxy_shows_of_a_request_is_in_no_sentence() -> None:
    api = Answering("<pre>GET /api/v1/pods\nAuthorization: Bearer eyJhbGciOi.s3cr3t.QZ91xYw7Lm</pre>", 502)
    with pytest.raises(UsageError) as caught:
        await nodes_that_run(api, "prod", [Selector.of("job/train")])
    place = Place("kubernetes", "prod", {})
    with pytest.raises(CannotList) as listed:
        await asyncio.to_thread(lister(lambda _: api), place)
    for said in (str(caught.value), str(listed.value)):
        assert "502" in said
        assert "s3cr3t" not in said
