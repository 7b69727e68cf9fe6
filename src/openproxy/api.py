"""Transcription as a function: `openproxy.transcribe()`, and `transcribe_stream()` for what wants the text as it comes."""

import errno
import io
import os
import shutil
import threading
from collections import OrderedDict
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from openproxy import languages
from openproxy.engine.models import Options, Piece, Progress, Transcriber
from openproxy.errors import BadRequest
from openproxy.transcript import Segment, Transcript
from openproxy.upload import Upload

Source = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO
"""A path, the bytes of a file, or an open binary file, seekable or not."""

KEPT_MODELS = 2
"""Loaded models that stay in memory; beyond it the one that was not used for longest is let go."""


def transcribe(
    source: Source,
    *,
    model: str | os.PathLike[str] = "tiny.en",
    language: str | None = None,
    prompt: str | None = None,
    translate: bool = False,
    word_timestamps: bool = False,
    temperature: float | None = None,
    vad: bool = True,
    max_seconds: float | None = 4 * 3600.0,
    threads: int = 1,
) -> Transcript:
    """Transcribe one recording on this machine.

    `model` is what `openproxy-engine -m` takes: a size name, a folder, a repository id. It is loaded at the first call
    and kept. `language` is a code or a name, None detects it; `translate` gives English whatever is spoken.
    `word_timestamps` adds the times of words, `temperature` is from 0 to 1, `vad=False` gives the model silence and
    noise too. Recordings longer than `max_seconds` are refused. May be called from several threads at once; each call
    uses `threads` threads.

    Raises AudioError (AudioUnreadable, AudioTooLong) for the recording, UnknownLanguage and BadRequest for the options,
    ModelUnusable for the model (all of them OpenProxyError), OSError where a path cannot be opened, TypeError for a
    source of another kind.
    """
    for item in transcribe_stream(
        source,
        model=model,
        language=language,
        prompt=prompt,
        translate=translate,
        word_timestamps=word_timestamps,
        temperature=temperature,
        vad=vad,
        max_seconds=max_seconds,
        threads=threads,
    ):
        if isinstance(item, Transcript):
            return item
    raise RuntimeError("a transcription ended without its transcript")


def transcribe_stream(
    source: Source,
    *,
    model: str | os.PathLike[str] = "tiny.en",
    language: str | None = None,
    prompt: str | None = None,
    translate: bool = False,
    word_timestamps: bool = False,
    temperature: float | None = None,
    vad: bool = True,
    max_seconds: float | None = 4 * 3600.0,
    threads: int = 1,
) -> Generator[Segment | Piece | Transcript, None, None]:
    """As `transcribe`, but yield each Segment as soon as it exists, and the whole Transcript as the last item.

    A model that gives no times (an audio chat model) yields Piece of text in place of segments.
    Closing the iterator stops the work. Errors come from the first step of the iteration on.
    """
    _check(temperature, max_seconds, threads)
    spoken = languages.normalise(language)
    options = Options(
        language=None if spoken is None else spoken.code,
        prompt=prompt,
        temperature=temperature,
        translate=translate,
        word_timestamps=word_timestamps,
        vad=vad,
    )
    transcriber = _models.get(os.fspath(model), threads)
    from openproxy.audio import Limits, open_audio

    with ExitStack() as kept:
        audio = kept.enter_context(open_audio(_readable(source, kept), Limits(max_seconds=max_seconds)))
        for item in transcriber.stream(audio, options):
            if not isinstance(item, Progress):
                yield item


def _check(temperature: float | None, max_seconds: float | None, threads: int) -> None:
    """Raise BadRequest, its `param` naming the argument, for a number outside its range; NaN is outside of all."""
    if temperature is not None and not 0 <= temperature <= 1:
        raise BadRequest(
            f"temperature {temperature!r} is not a number from 0 to 1", param="temperature", code="invalid_value"
        )
    if max_seconds is not None and not max_seconds > 0:
        raise BadRequest(
            f"max_seconds {max_seconds!r} is not a number above 0; None takes any length",
            param="max_seconds",
            code="invalid_value",
        )
    if threads < 1:
        raise BadRequest(f"threads {threads!r} is not a number from 1 on", param="threads", code="invalid_value")


def _readable(source: Source, kept: ExitStack) -> Path | bytes | BinaryIO:
    """`source` in a form that can be read more than once: what comes through a pipe is copied."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    if isinstance(source, (str, os.PathLike)):
        if not os.fspath(source):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)
        return Path(source)
    if isinstance(source, io.TextIOBase) or not hasattr(source, "read"):
        raise TypeError(f"a recording is a path, bytes, or a file open in binary mode, not {type(source).__name__}")
    if source.seekable():
        return source
    upload = kept.enter_context(Upload())
    shutil.copyfileobj(source, upload)
    upload.finish()
    return upload.source


class _Models:
    """The loaded models of this process: each is loaded once, however many threads ask for it, and kept while it is in use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: OrderedDict[tuple[str, int], Future[Transcriber]] = OrderedDict()

    def get(self, reference: str, threads: int) -> Transcriber:
        """The model, loaded now if it is not yet; threads that ask meanwhile wait for it. A failure is not kept."""
        key = (reference, threads)
        with self._lock:
            known = self._loaded.get(key)
            future = self._loaded[key] = known or Future()
            self._loaded.move_to_end(key)
            while len(self._loaded) > KEPT_MODELS:
                self._loaded.popitem(last=False)
        if known is None:
            self._load(key, future)
        return future.result()

    def _load(self, key: tuple[str, int], future: "Future[Transcriber]") -> None:
        from openproxy.engine.models.load import load

        reference, threads = key
        try:
            future.set_result(load(reference, threads=threads, parallel=os.cpu_count() or 1))
        except BaseException as error:
            with self._lock:
                if self._loaded.get(key) is future:
                    del self._loaded[key]
            future.set_exception(error)


_models = _Models()
