"""The specification's reader: a data directory and a server of its own, and vendors that listen on this machine."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from fakes.loopback import serve
from support import background
from support.command import CASES
from support.document import Document
from support.home import Home
from support.vendors import FAKES, SECRET

RECORDINGS = {
    "speech.mp3": "B19_cat.mp3",
    "speech.wav": "B14_stream_me.wav",
    "interview.wav": "B12_word_times.wav",
    "call.wav": "B07_half_second_word.wav",
}
"""The file names of the specification, and the recordings that have them here; the first is below 90 kB."""


@pytest.fixture
def document(tmp_path) -> Iterator[Document]:
    """A reader who has the recordings, and nothing else."""
    for name, case in RECORDINGS.items():
        shutil.copy(CASES / case, tmp_path / name)
    home = Home(tmp_path)
    yield Document(home)
    home.stop()


@pytest.fixture
def started(document) -> Document:
    """A reader who has done section 0: the server runs, and the shell has the admin key."""
    document.run("0b-start")
    document.key = document.succeed("openproxy --robot server init | jq -r '.data.admin_key.key'").strip()
    return document


@pytest.fixture
def vendor() -> Iterator[Callable[..., tuple[Any, dict[str, Any]]]]:
    """Starts a vendor's fake; gives it and the JSON that makes an account of it: its address and how it wants its key."""
    with ExitStack() as stack:

        def start(provider: str, key: str = SECRET) -> tuple[Any, dict[str, Any]]:
            kind, path, scheme = FAKES[provider]
            fake = kind(key)
            url = stack.enter_context(background.entered(serve(fake.app())))
            return fake, {"apiKey": key, "baseUrl": url + path, "extra": {"authScheme": scheme}}

        yield start
