"""A Dask worker that reads chunks: what `zombie worker` runs.

Defined in: https://distributed.dask.org/en/stable/worker.html. The work is a coroutine, `read_chunk`, on the
worker's own event loop; text goes in, text comes out.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Mapping
from typing import Any

import dask.config
from distributed import Security, Worker

from bot.domain.errors import SchedulerError
from bot.domain.safe_text import one_line
from bot.extras.fleet.dask_scheduler import SchedulerAddress, resource
from bot.extras.fleet.worker import ChunkWorker

LEAVING_SECONDS = 10


class ReadingWorker(Worker):
    """A Dask worker that holds the reader of its chunks."""

    chunk_worker: ChunkWorker


async def read_chunk(order: str) -> str:
    """Return the reply to an order, on the worker that runs this.

    It is sent as it is, not by its name: a scheduler reads what it passes on, and need not have this program. So it
    names nothing of this module.
    """
    from distributed import get_worker

    worker = get_worker()
    if (chunk_worker := getattr(worker, "chunk_worker", None)) is None:
        raise TypeError("this worker was not started by `zombie worker`")
    reply: str = await chunk_worker.reply(order, worker.address)
    return reply


read_chunk.__module__ = "__main__"  # so pickles hold the function itself


async def serve(
    address: SchedulerAddress,
    chunk_worker: ChunkWorker,
    zone: str,
    chunks: int,
    stop: asyncio.Event,
    ready: str,
) -> None:
    """Read chunks until `stop` is set; `ready` is remarked with the worker's own address once it takes work.

    Shape: `chunks` are read at the same time. Unfinished chunks are left for another worker.
    Raises: SchedulerError when the scheduler does not answer, or is gone.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is said in sentences
    with tempfile.TemporaryDirectory(prefix="zombie-worker-") as folder, dask_options():
        worker = ReadingWorker(
            address.url,
            nthreads=chunks,
            name=chunk_worker.worker,
            resources={resource(chunk_worker.program, zone): chunks},
            security=security(address),
            host="127.0.0.1" if address.is_local else None,
            protocol="tls://" if address.is_tls else "tcp://",
            dashboard_address="127.0.0.1:0",
            local_directory=folder,
            memory_limit=0,  # answers are small; a paused worker would only delay
            death_timeout=CONNECT_SECONDS,
        )
        worker.chunk_worker = chunk_worker
        try:
            await asyncio.wait_for(worker, CONNECT_SECONDS + 5)
        except (OSError, TimeoutError, RuntimeError, ValueError) as no:
            await worker.close(timeout=1)
            why = one_line(str(no) or type(no).__name__, 160).rstrip(".")
            raise SchedulerError(
                f"The scheduler {address.url} does not answer, or rejects this worker: {why}.",
                "Is it running, and do the certificates share an authority? docs/fleet.md says how it is started.",
            ) from no
        chunk_worker.remark(f"{ready}, at {worker.address}")
        gone = asyncio.ensure_future(worker.finished())  # type: ignore[no-untyped-call]
        told = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({gone, told}, return_when=asyncio.FIRST_COMPLETED)
            if not stop.is_set():
                raise SchedulerError(
                    f"The scheduler {address.url} is gone, or sent this worker away.",
                    "Start it, then this worker again; docs/fleet.md has systemd units that do this.",
                )
        finally:
            told.cancel()
            await worker.close(timeout=LEAVING_SECONDS)
            await gone


# --- How both ends connect to a Dask scheduler: certificates, and Dask's options
#
# Defined in: https://distributed.dask.org/en/stable/tls.html and https://docs.dask.org/en/stable/configuration.html.


CONNECT_SECONDS = 10


def security(address: SchedulerAddress) -> Security | None:
    """Return the TLS settings for every connection; None for plain text within this machine."""
    if not address.is_tls:
        return None
    files = {"tls_ca_file": str(address.ca)}
    for role in ("client", "worker", "scheduler"):
        files |= {f"tls_{role}_cert": str(address.certificate), f"tls_{role}_key": str(address.key)}
    return Security(require_encryption=True, **files)


def dask_options() -> Any:
    """Return a context that sets Dask's options: known limits, and no preloaded code."""
    options: Mapping[str, Any] = {
        "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s",
        "distributed.worker.preload": [],
        "distributed.client.preload": [],
        "distributed.worker.http.routes": [],  # it listens on loopback, without any pages
    }
    return dask.config.set(options)
