"""The process of the model under hard use: killed, stopped, overfilled, cancelled, drained."""

import asyncio
import os
import resource
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import psutil
import pytest

from openproxy.audio.limits import Limits
from openproxy.engine import worker as worker_module
from openproxy.engine.models import Options, Progress, catalog
from openproxy.engine.models.chat import Ask
from openproxy.engine.worker import Worker, WorkerSettings, default_parallel
from openproxy.engine.worker_messages import ChatJob, Job, ModelSettings
from openproxy.errors import (
    AudioTooLong,
    AudioUnreadable,
    BadRequest,
    Busy,
    Loading,
    ModelUnusable,
    OpenProxyError,
    TimedOut,
    Unavailable,
    WorkerDied,
)
from openproxy.transcript import Segment, Transcript
from support.engine_server import CASES

SHORT = (CASES / "B14_stream_me.wav").read_bytes()
CAT = (CASES / "B19_cat.mp3").read_bytes()


@asynccontextmanager
async def started(*, parallel: int = 1, **settings: Any) -> AsyncIterator[Worker]:
    worker = Worker(ModelSettings("tiny.en", parallel=parallel), WorkerSettings(**settings))
    await worker.start()
    try:
        yield worker
    finally:
        await worker.stop()


def job(source: bytes | Path = SHORT, **rest: Any) -> Job:
    return Job(source, Limits(600.0), **rest)


async def items(worker: Worker, wanted: Job | ChatJob) -> list[Any]:
    async with aclosing(worker.submit(wanted)) as results:
        return [item async for item in results]


async def text(worker: Worker, wanted: Job) -> str:
    last = (await items(worker, wanted))[-1]
    assert isinstance(last, Transcript)
    return last.text


async def until(condition: Any, seconds: float = 10) -> None:
    end = monotonic() + seconds
    while not condition():
        assert monotonic() < end, "it did not happen in time"
        await asyncio.sleep(0.01)


async def test_items_arrive_in_order_and_the_transcript_last(long_clip: Path) -> None:
    async with started() as worker:
        assert worker.facts is not None
        assert (worker.facts.kind, worker.facts.languages) == ("whisper", ("en",))
        found = await items(worker, job(long_clip, options=Options(word_timestamps=True)))
        assert found[0] == Progress(0.0, pytest.approx(34.5, abs=0.1))
        segments = tuple(item for item in found if isinstance(item, Segment))
        last = found[-1]
        assert isinstance(last, Transcript)
        assert last.segments == segments
        assert last.words
        assert [isinstance(item, Transcript) for item in found].count(True) == 1


async def test_errors_keep_their_fields_over_the_pipe() -> None:
    async with started() as worker:
        with pytest.raises(AudioUnreadable) as empty:
            await items(worker, job(b""))
        assert (empty.value.code, empty.value.status) == ("empty_audio", 400)
        with pytest.raises(AudioTooLong) as long:
            await items(worker, Job(SHORT, Limits(1.0)))
        assert long.value.code == "audio_too_long"
        with pytest.raises(AudioUnreadable, match=r"2\.285 seconds long, minimum is 3 seconds") as short:
            await items(worker, job(shortest=3.0))
        assert (short.value.param, short.value.code) == ("file", "audio_too_short")
        with pytest.raises(BadRequest, match="Field 'top_p'"):
            await items(worker, job(late="Field 'top_p'"))
        with pytest.raises(AudioUnreadable):
            await items(worker, job(b"no audio at all", late="Field 'top_p'"))
        with pytest.raises(BadRequest) as language:
            await items(worker, job(options=Options(language="es")))
        assert language.value.param == "language"
        assert "kitchen" in await text(worker, job())


async def test_slots_work_side_by_side_and_answers_stay_apart() -> None:
    async with started(parallel=2, queue=4) as worker:
        wanted = [SHORT, CAT] * 3
        tasks = [asyncio.create_task(text(worker, job(source))) for source in wanted]
        await until(lambda: worker.running == 2)
        assert worker.waiting == 4
        with pytest.raises(Busy) as busy:
            await items(worker, job())
        assert busy.value.retry_after is not None
        assert busy.value.retry_after >= 1
        heard = await asyncio.gather(*tasks)
        assert ["kitchen" in one for one in heard] == [True, False] * 3
        assert ["sleeping" in one for one in heard] == [False, True] * 3


async def test_a_job_that_cannot_be_written_down_takes_no_slot() -> None:
    endless: list[Any] = []
    for _ in range(5000):
        endless = [endless]
    async with started() as worker:
        for wanted in (
            job(options=Options(prompt=endless)),
            ChatJob((), Limits(600.0), Ask(more={"logit_bias": endless})),
        ):  # type: ignore[arg-type]
            with pytest.raises(OpenProxyError, match="The request could not be handed to the model"):
                await items(worker, wanted)
            assert (worker.running, worker.waiting) == (0, 0)
        pid = worker.pid
        assert "kitchen" in await text(worker, job())
        assert worker.pid == pid


async def test_a_killed_process_loses_what_it_worked_on_and_nothing_else(long_clip: Path) -> None:
    async with started(queue=2) as worker:
        running = asyncio.create_task(items(worker, job(long_clip)))
        await until(lambda: worker.running == 1)
        queued = asyncio.create_task(text(worker, job()))
        await until(lambda: worker.waiting == 1)
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(WorkerDied) as died:
            await running
        assert (died.value.status, died.value.code) == (503, "worker_died")
        assert "kitchen" in await queued
        assert worker.restarts == 1
        assert worker.ready


async def test_leaving_frees_the_queue_and_the_slot(long_clip: Path) -> None:
    async with started(queue=1) as worker:
        results = worker.submit(job(long_clip))
        assert isinstance(await anext(results), Progress)
        queued = asyncio.create_task(items(worker, job()))
        await until(lambda: worker.waiting == 1)
        queued.cancel()
        with pytest.raises(asyncio.CancelledError):
            await queued
        assert (worker.running, worker.waiting) == (1, 0)
        await results.aclose()
        assert "kitchen" in await text(worker, job())
        assert worker.restarts == 0


async def test_the_time_limit_is_twice_the_recording_and_more() -> None:
    async with started(timeout=0.5, grace=1.0, queue=2) as worker:
        process = psutil.Process(worker.pid)
        stuck = asyncio.create_task(items(worker, job()))
        await until(lambda: worker.running == 1)
        process.suspend()
        begun = monotonic()
        with pytest.raises(TimedOut) as late:
            await stuck
        assert late.value.status == 504
        assert 0.4 < monotonic() - begun < 0.5 + 2 * 2.3 + 2
        # The stopped process does not give its slot back: it is replaced, and the next request is served.
        assert "kitchen" in await text(worker, job())
        assert worker.restarts == 1
        assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


async def test_a_silent_process_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "READY_SECONDS", 1.0)
    monkeypatch.setattr(worker_module, "SILENT_SECONDS", 2.0)
    async with started() as worker:
        assert worker.ready
        psutil.Process(worker.pid).suspend()
        await until(lambda: not worker.ready)
        await until(lambda: worker.restarts == 1 and worker.ready)


async def test_ready_under_full_load(long_clip: Path) -> None:
    async with started(parallel=2) as worker:
        tasks = [asyncio.create_task(items(worker, job(long_clip))) for _ in range(2)]
        await until(lambda: worker.running == 2)
        seen = []
        for _ in range(20):
            seen.append(worker.ready)
            await asyncio.sleep(0.1)
        assert not any(task.done() for task in tasks)
        assert seen == [True] * 20
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def test_draining_finishes_what_runs_and_refuses_the_rest() -> None:
    async with started(queue=2) as worker:
        running = asyncio.create_task(text(worker, job()))
        await until(lambda: worker.running == 1)
        queued = asyncio.create_task(items(worker, job()))
        await until(lambda: worker.waiting == 1)
        draining = asyncio.create_task(worker.drain(10))
        with pytest.raises(Unavailable) as refused:
            await queued
        assert refused.value.code == "shutting_down"
        assert "kitchen" in await running
        await draining
        assert not worker.ready
        with pytest.raises(Unavailable):
            await items(worker, job())


async def test_draining_has_an_end(long_clip: Path) -> None:
    async with started() as worker:
        running = asyncio.create_task(items(worker, job(long_clip)))
        await until(lambda: worker.running == 1)
        await worker.drain(0.1)
        with pytest.raises(Unavailable) as refused:
            await running
        assert refused.value.code == "shutting_down"


async def test_what_cannot_be_loaded(tmp_path: Path) -> None:
    worker = Worker(ModelSettings(str(tmp_path)))
    with pytest.raises(ModelUnusable):
        await worker.start()
    assert worker.pid is None


async def test_a_model_that_is_gone_when_its_process_dies(tmp_path: Path) -> None:
    installed = catalog.installed("tiny.en")
    assert installed is not None
    folder = shutil.copytree(installed, tmp_path / "model")
    worker = Worker(ModelSettings(str(folder)), WorkerSettings(queue=2))
    await worker.start()
    try:
        running = asyncio.create_task(items(worker, job()))
        await until(lambda: worker.running == 1)
        queued = asyncio.create_task(items(worker, job()))
        await until(lambda: worker.waiting == 1)
        folder.rename(tmp_path / "gone")
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(WorkerDied):
            await running
        # Nobody is left waiting for a model that may never come back.
        for waiting in (queued, items(worker, job())):
            with pytest.raises(Unavailable, match="cannot be loaded at the moment") as refused:
                await waiting
            assert (refused.value.code, refused.value.status) == ("model_not_loaded", 503)
            assert refused.value.retry_after is not None
        (tmp_path / "gone").rename(folder)
        await until(lambda: worker.ready)
        assert "kitchen" in await text(worker, job())
    finally:
        await worker.stop()


async def test_no_process_is_to_be_had_for_a_while() -> None:
    async with started() as worker:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            await until(lambda: worker.restarts == 2)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        with pytest.raises(Unavailable) as refused:
            await items(worker, job())
        assert refused.value.code == "model_not_loaded"
        await until(lambda: worker.ready)
        assert "kitchen" in await text(worker, job())


async def test_clients_see_no_path_of_the_model() -> None:
    folder = catalog.installed("tiny.en")
    assert folder is not None
    worker = Worker(ModelSettings(str(folder)))
    try:
        facts = await worker.start()
        assert facts.name == folder.name
        with pytest.raises(BadRequest) as refused:
            await items(worker, job(options=Options(language="es")))
        assert str(folder.parent) not in refused.value.message
        assert folder.name in refused.value.message
    finally:
        await worker.stop()
    assert ModelSettings(str(folder), alias="scribe").name == "scribe"
    assert ModelSettings("hf:owner/repo").name == "hf:owner/repo"


async def test_before_the_model_is_there_and_when_its_process_dies_over_it() -> None:
    worker = Worker(ModelSettings("tiny.en"))
    starting = asyncio.create_task(worker.start())
    await until(lambda: worker.pid is not None)
    with pytest.raises(Loading):
        await items(worker, job())
    assert not worker.ready
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(WorkerDied, match="while it loaded"):
        await starting


async def test_signals_of_the_terminal_do_not_reach_the_process() -> None:
    async with started() as worker:
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGINT)
        os.kill(worker.pid, signal.SIGTERM)
        assert os.getsid(worker.pid) != os.getsid(0)
        assert "kitchen" in await text(worker, job())
        assert worker.restarts == 0


def test_as_many_at_once_as_the_machine_can() -> None:
    assert 1 <= default_parallel(1) <= 4
    assert default_parallel(10_000) == 1
