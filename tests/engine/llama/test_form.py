from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.requests import ClientDisconnect

from openproxy.engine.llama.form import Form, Limits, read
from openproxy.errors import BadRequest, UnsupportedEncoding, UploadTooLarge
from support.forms import kept, pieces
from support.oracle import form_bytes

TYPE = "multipart/form-data; boundary=xYz"


def form(*parts: dict[str, object], **spec: object) -> bytes:
    return form_bytes({"boundary": "xYz", "parts": parts, **spec})


def text(name: str, value: str) -> dict[str, object]:
    return {"name": name, "text": value}


def clip(name: str = "file", content: str = "RIFF", filename: str = "a.wav") -> dict[str, object]:
    return {"name": name, "text": content, "filename": filename}


async def test_fields_keep_their_order_and_repeated_ones_become_lists() -> None:
    body = form(text("b", "1"), text("a", ""), text("b", "2"), clip(), text("b", "3"), text("", "no name"))
    got = await read(pieces(body), TYPE)
    assert list(got.fields.items()) == [("b", ["1", "2", "3"]), ("a", ""), ("", "no name")]
    assert got.file is not None
    assert (got.file.source, got.file.filename) == (b"RIFF", "a.wav")


async def test_the_last_file_named_file_counts_and_no_other_name() -> None:
    body = form(
        clip(content="first"), clip("File"), clip("file[]"), clip("prompt"), clip(content="last"), text("file", "x")
    )
    got = await read(pieces(body), TYPE)
    assert got.file is not None
    assert got.file.source == b"last"
    assert got.fields == {"file": "x"}


async def test_an_empty_filename_makes_a_text_field() -> None:
    got = await read(pieces(form(clip(filename=""))), TYPE)
    assert (got.file, got.fields) == (None, {"file": "RIFF"})


async def test_a_part_without_disposition_is_a_field_without_a_name() -> None:
    got = await read(pieces(form({"name": "", "text": "x", "raw_headers": "Content-Type: audio/wav\r\n"})), TYPE)
    assert (got.file, got.fields) == (None, {"": "x"})


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"name": "prompt", "base64": "YWJj/w=="}, "invalid UTF-8 byte at index 3: 0xFF"),
        ({"name": "zzz", "base64": "gA=="}, "invalid UTF-8 byte at index 0: 0x80"),
        ({"name": "p", "base64": "4igo"}, "invalid UTF-8 byte at index 1: 0x28"),
        ({"name": "p", "base64": "YeKC"}, "incomplete UTF-8 string; last byte: 0x82"),
        (
            {"name": "?", "text": "x", "raw_headers": 'Content-Disposition: form-data; name="p\xff"\r\n'},
            "invalid UTF-8 byte at index 1: 0xFF",
        ),
        ({"name": "file", "base64": "UklGRoE=", "filename": ""}, "invalid UTF-8 byte at index 4: 0x81"),
    ],
)
async def test_text_that_is_not_utf8_names_the_byte(part: dict[str, object], message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        await read(pieces(form(clip(), part)), TYPE)
    assert caught.value.message == f"[json.exception.type_error.316] {message}"


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("multipart/form-data", form(clip())),
        ("multipart/form-data; boundary=", form(clip())),
        ('multipart/form-data; boundary=""', form(clip())),
        ("multipart/form-data; boundary=other", form(clip())),
        (TYPE, form()),
        (TYPE, form(clip(), closing=False)),
        (TYPE, form(clip(), nl="\n")),
        (TYPE, form(clip())[:-30]),
        (TYPE, form({"name": "", "text": "x", "raw_headers": 'Content-Disposition: form-data; filename="a.wav"\r\n'})),
        (TYPE, form({"name": "", "text": "x", "raw_headers": "Content-Disposition: form-data; name=\"file\"; filename*=ISO-8859-1''a.wav\r\n"})),
    ],
)  # fmt: skip
async def test_a_malformed_form_says_so(content_type: str, body: bytes) -> None:
    with pytest.raises(BadRequest, match=r"^invalid multipart form-data: \S"):
        await read(pieces(body), content_type)


@pytest.mark.parametrize(
    "content_type", ["Multipart/Form-Data; boundary=xYz", "multipart/mixed; boundary=xYz", "", None]
)
async def test_any_other_type_is_read_as_json(content_type: str | None) -> None:
    got = await read(pieces(form(clip())), content_type)
    assert got.json_error is not None
    assert got.json_error.startswith("[json.exception.parse_error.101] parse error at line 1, column 2: ")
    assert await read(pieces(b'{"file":"abcd"}'), content_type) == Form()


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(parts=2), "multipart form has more than 2 parts"),
        (Limits(part_bytes=99), "'file' part is 100 bytes, maximum is 99 bytes"),
    ],
)
async def test_a_limit_is_named_with_its_value(limits: Limits, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        await read(pieces(form(text("a", "1"), clip(content="x" * 100), text("b", "2"))), TYPE, limits=limits)
    assert caught.value.message == message


async def test_exactly_at_every_limit_is_accepted() -> None:
    body = form(text("a", "1"), clip(content="x" * 100))
    got = await read(pieces(body), TYPE, limits=Limits(parts=2, part_bytes=100, body_bytes=len(body)))
    assert got.file is not None
    assert got.file.size == 100


async def test_a_body_beyond_the_limit_is_413_before_and_while_it_is_read() -> None:
    body = form(clip(content="x" * 5000))
    for declared in (len(body), None):
        with pytest.raises(UploadTooLarge, match=r"^Body too large: the limit is 4000 bytes$"):
            await read(pieces(body), TYPE, declared=declared, limits=Limits(body_bytes=4000))


@pytest.mark.parametrize("encoding", ["gzip", "br", "x-zip"])
async def test_an_encoded_body_is_415(encoding: str) -> None:
    with pytest.raises(UnsupportedEncoding, match=f"^Content-Encoding '{encoding}' is not supported$"):
        await read(pieces(form(clip())), TYPE, content_encoding=encoding)
    assert (await read(pieces(form(clip())), TYPE, content_encoding="identity")).file is not None


async def test_a_form_without_a_length_is_empty_and_one_of_no_bytes_is_malformed() -> None:
    assert await read(pieces(b""), TYPE) == Form()
    with pytest.raises(BadRequest, match=r"^invalid multipart form-data: unexpected end"):
        await read(pieces(b""), TYPE, declared=0)


async def test_json_beyond_what_is_checked_is_refused() -> None:
    with pytest.raises(UploadTooLarge, match=r"^Body too large: the limit is 1048576 bytes$"):
        await read(pieces(b'["' + b"x" * 2_000_000 + b'"]', 65536), "application/json")
    late = await read(pieces(b"[1, oops" + b" " * 2_000_000, 65536), "application/json")
    assert late.json_error is not None
    assert "line 1, column 5" in late.json_error


async def test_a_client_that_leaves_leaves_nothing_behind(tmp_path: Path) -> None:
    async def leaving() -> AsyncIterator[bytes]:
        yield form(clip(content="x" * 2_000_000))[:-100]
        assert kept(tmp_path)
        raise ClientDisconnect

    with pytest.raises(ClientDisconnect):
        await read(leaving(), TYPE, folder=tmp_path)
    assert kept(tmp_path) == []


async def test_no_upload_outlives_an_error(tmp_path: Path) -> None:
    large = clip(content="x" * 1_500_000)
    bad = {"name": "prompt", "base64": "/w=="}
    for body in (form(large, bad), form(large, large, closing=False), form(large, *[text("a", "1")] * 40)):
        with pytest.raises(BadRequest):
            await read(pieces(body, 65536), TYPE, folder=tmp_path)
        assert kept(tmp_path) == []
    got = await read(pieces(form(large, clip("other", "y" * 1_500_000), large), 65536), TYPE, folder=tmp_path)
    assert len(kept(tmp_path)) == 1
    got.close()
    assert kept(tmp_path) == []
