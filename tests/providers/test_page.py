"""The example in docs/providers.md is a provider that works."""

import dataclasses
import re
import textwrap
from pathlib import Path
from typing import Any

from fakes.recorder import recorder
from openproxy.providers.catalog import PROVIDERS
from openproxy.providers.http import Client
from openproxy.transcript import Segment, Transcript, Word
from support.providers import AUDIO, SECRET, account, asked

PAGE = Path(__file__).parents[2] / "docs" / "providers.md"
ENTRY = dataclasses.replace(
    PROVIDERS["deepgram"], id="vendor", url="https://api.vendor.example/v2/hear", other_scheme="x-api-key"
)


async def test_the_page_shows_a_whole_provider():
    (block,) = re.findall("(?ms)^   ```python$(.*?)^   ```$", PAGE.read_text(encoding="utf-8"))
    module: dict[str, Any] = {}
    exec(compile(textwrap.dedent(block), str(PAGE), "exec"), module)
    answer = {
        "transcript": "Hello, you.",
        "language": "en-GB",
        "duration": 1.5,
        "words": [{"word": "Hello,", "start": 0, "end": 0.5}, {"word": "you.", "start": 0.6, "end": 1}],
    }
    async with recorder(answer) as upstream, Client() as client:
        request = asked("ear-2", ("language", "english"), ("prompt", "p"), filename="note.opus")
        reply = await module["Vendor"](ENTRY).transcribe(request, account("vendor", upstream.url), client)
    (seen,) = upstream.seen
    assert (seen.method, seen.path, seen.query) == ("POST", "/v2/hear", "model=ear-2&language=en")
    assert (seen.headers["x-api-key"], seen.headers["content-type"], seen.body) == (SECRET, "audio/ogg", AUDIO)
    words = (Word(" Hello,", 0.0, 0.5), Word(" you.", 0.6, 1.0))
    assert reply.answer == Transcript("Hello, you.", "en", 1.5, (Segment(" Hello, you.", 0.0, 1.0, words),), words)
    assert reply.ignored == ("prompt",)
