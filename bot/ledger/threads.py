"""The ledger and the other stores for an event loop: each method runs in a thread, and is awaited.

A cancelled wait does not stop the running transaction: it is committed or rolled back as a whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

_NONE: Mapping[str, ThreadPoolExecutor] = MappingProxyType({})


class _Verb(Protocol):
    def __call__(self, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]: ...


class _OnThreads:
    def __init__(self, blocking: object, threads: ThreadPoolExecutor, apart: Mapping[str, ThreadPoolExecutor]) -> None:
        self._blocking = blocking
        self._threads = threads
        self._apart = apart

    def __getattr__(self, name: str) -> _Verb:
        verb, threads = getattr(self._blocking, name), self._apart.get(name, self._threads)

        async def awaited(*args: Any, **kwargs: Any) -> Any:
            return await asyncio.get_running_loop().run_in_executor(threads, partial(verb, *args, **kwargs))

        return awaited


def on_threads(blocking: object, threads: ThreadPoolExecutor, apart: Mapping[str, ThreadPoolExecutor] = _NONE) -> Any:
    """Return a blocking object with awaitable methods; the caller names the contract that it then keeps.

    Shape: `apart` names methods that run in separate threads.
    """
    return _OnThreads(blocking, threads, apart)
