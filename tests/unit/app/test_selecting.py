"""Where a workload runs, as a cluster says it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.app.selecting import run_on
from bot.domain.call import Answered, Call
from bot.domain.errors import UsageError
from bot.domain.selector import Selector


class Answering:
    """A cluster's API with one answer."""

    def __init__(self, body: str) -> None:
        self._body = body

    async def call(self, cluster: str, call: Call, limit: timedelta) -> Answered:
        return Answered(200, self._body)

    async def close(self) -> None: ...


POD = '{"spec":{"nodeName":"n1"}}'


async def test_workload_runs_where_the_whole_list_says() -> None:
    api = Answering(f'{{"kind":"PodList","metadata":{{}},"items":[{POD},{POD}]}}')
    assert await run_on(api, "prod", [Selector.of("job/train")]) == {"job/train": ("n1",)}


@pytest.mark.parametrize(
    "body",
    [
        f'{{"kind":"PodList","metadata":{{"continue":"eyJ2"}},"items":[{POD}]}}',
        '{"kind":"PodList","metadata":{}}',
        '{"kind":"PodList","items":[{}]}',
        '{"kind":"Status"}',
        "{",
    ],
)
async def test_list_that_is_not_whole_selects_no_node(body: str) -> None:
    with pytest.raises(UsageError, match="does not say where job/train runs"):
        await run_on(Answering(body), "prod", [Selector.of("job/train")])
