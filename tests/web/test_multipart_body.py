from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import ClientDisconnect

from openproxy.errors import BadRequest, OpenProxyError, UploadTooLarge
from openproxy.web import multipart_body
from openproxy.web.multipart_body import Event, Limits, Part, PartBegin, PartData, PartEnd
from support.forms import kept, pieces

BOUNDARY = "----x0123"


def body(*parts: tuple[str, bytes], before: bytes = b"", after: bytes = b"\r\n") -> bytes:
    """Parts as (header lines, content); the header is UTF-8."""
    joined = b"".join(
        b"--%s\r\n%s\r\n\r\n%s\r\n" % (BOUNDARY.encode(), head.replace("\n", "\r\n").encode(), data)
        for head, data in parts
    )
    return before + joined + b"--" + BOUNDARY.encode() + b"--" + after


def disposition(rest: str) -> str:
    return f"Content-Disposition: form-data; {rest}"


FIELD = (disposition('name="model"'), b"whisper-1")
FILE = (disposition('name="file"; filename="a.wav"') + "\nContent-Type: Audio/WAV; x=1", b"RIFF\r\n--x\r\n")


async def collected(data: bytes, size: int = 65536, limits: Limits | None = None) -> list[Event]:
    """All events, the data of one part joined."""
    got: list[Event] = []
    async for event in multipart_body.events(pieces(data, size), BOUNDARY, limits or Limits()):
        if isinstance(event, PartData) and isinstance(got[-1], PartData):
            got[-1] = PartData(got[-1].data + event.data)
        else:
            got.append(event)
    return got


async def begun(head: str) -> PartBegin:
    first = (await collected(body((head, b"x"))))[0]
    assert isinstance(first, PartBegin)
    return first


EXPECTED = [
    PartBegin("model", None, None, None),
    PartData(b"whisper-1"),
    PartEnd(9),
    PartBegin("file", "a.wav", "audio/wav", None),
    PartData(b"RIFF\r\n--x\r\n"),
    PartEnd(11),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 65536])
@pytest.mark.parametrize(
    ("before", "after"), [(b"", b"\r\n"), (b"", b""), (b"preamble\r\n", b"\r\nepilogue"), (b"\r\n", b"--")]
)
async def test_events_are_the_same_however_the_body_is_cut(size: int, before: bytes, after: bytes) -> None:
    assert await collected(body(FIELD, FILE, before=before, after=after), size) == EXPECTED


async def test_a_part_is_told_before_its_data_and_its_data_before_its_end() -> None:
    data = body(FILE)
    fed: list[int] = []

    async def feeding() -> AsyncIterator[bytes]:
        for at in range(0, len(data), 40):
            fed.append(at)
            yield data[at : at + 40]

    seen = [(type(event).__name__, len(fed)) async for event in multipart_body.events(feeding(), BOUNDARY)]
    assert seen[0] == ("PartBegin", 3)
    assert seen[-1][0] == "PartEnd"


@pytest.mark.parametrize(
    ("rest", "name", "filename"),
    [
        ('name="a"', "a", None),
        ("name=a", "a", None),
        ('name="file"; filename=""', "file", ""),
        ("name=file; filename=a.wav", "file", "a.wav"),
        ("name=file; filename=my file.wav", "file", "my file.wav"),
        ("name=file; filename=음성.wav", "file", "음성.wav"),
        ('name="timestamp_granularities[]"', "timestamp_granularities[]", None),
        ('filename="a.wav"; name="file"', "file", "a.wav"),
        ('NAME="file"; FileName="a.wav"', "file", "a.wav"),
        ('name = "file" ;filename = "a.wav"', "file", "a.wav"),
        ('name="file"; filename="spotkanie_zażółć_会议_🎧.wav"', "file", "spotkanie_zażółć_会议_🎧.wav"),
        ('name="file"; filename="a;b=c.wav"', "file", "a;b=c.wav"),
        ('name="file"; filename="a\\"b.wav"', "file", 'a"b.wav'),
        ('name="file"; filename="a%22b%0D%0Ac.wav"', "file", 'a"b\r\nc.wav'),
        ('name="file"; filename="100%.wav"', "file", "100%.wav"),
        ('name="file"; filename="a\\b.wav"', "file", "a\\b.wav"),
        ('name="file"; filename="a\\"', "file", "a\\"),
        ('name="file"; filename="a"b.wav"', "file", 'a"b.wav'),
        ('name="file"; filename="C:\\dir\\a.wav"', "file", "a.wav"),
        ('name="file"; filename="../../etc/passwd"', "file", "../../etc/passwd"),
        ("name=\"file\"; filename*=UTF-8''a%20b.wav", "file", "a b.wav"),
        ("name=\"file\"; filename=\"x.wav\"; filename*=utf-8''%E4%BC%9A%E8%AE%AE.wav", "file", "会议.wav"),
        ("name=\"file\"; filename*=UTF-8'en'%0D%0A%22.wav; filename=\"x.wav\"", "file", '\r\n".wav'),
        ("name=\"file\"; filename*=UTF-8''", "file", ""),
        ('name="file"; filename="a.wav"; size=5; ' + "x=y; " * 30, "file", "a.wav"),
    ],
)  # fmt: skip
async def test_names(rest: str, name: str, filename: str | None) -> None:
    assert await begun(disposition(rest)) == PartBegin(name, filename, None, None)


async def test_headers_in_any_case_and_of_any_kind() -> None:
    head = 'content-disposition: Form-Data; name="p"\nX-Other: 1\ncontent-type: TEXT/plain; charset="ISO-8859-1"'
    assert await begun(head) == PartBegin("p", None, "text/plain", "ISO-8859-1")


@pytest.mark.parametrize("head", ["Content-Type: audio/wav", 'Content-Disposition: attachment; name="file"'])
async def test_a_part_that_is_no_form_data_has_no_name(head: str) -> None:
    assert (await begun(head)).name is None


async def test_bytes_of_a_name_that_are_not_utf8_are_kept() -> None:
    raw = body((disposition('name="p?"'), b"x")).replace(b"p?", b"p\xff")
    event = (await collected(raw))[0]
    assert isinstance(event, PartBegin)
    assert event.name is not None
    assert event.name.encode("utf-8", "surrogateescape") == b"p\xff"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "unexpected end of multipart stream (parser closed)"),
        (b"nothing at all", "unexpected end of multipart stream (parser closed)"),
        (body(FILE)[:-20], "unexpected end of multipart stream (parser closed)"),
        (body(FILE).replace(b"\r\n", b"\n"), "invalid line break after first boundary"),
        (body((disposition('filename="a.wav"'), b"x")), "a part has no name"),
        (body((disposition("name=\"f\"; filename*=ISO-8859-1''a.wav"), b"x")), "filename* of a part is not of the form UTF-8''name"),
        (body((disposition('name="f"; filename*=a.wav'), b"x")), "filename* of a part is not of the form UTF-8''name"),
        (body((disposition('name="f"') + "\nno colon", b"x")), "malformed segment header"),
        (body((disposition('name="f"') + "\nX: " + "y" * 9000, b"x")), "maximum segment header length exceeded"),
        (body((disposition('name="f"') + "\nX: y" * 100, b"x")), "maximum segment header count exceeded"),
    ],
)  # fmt: skip
async def test_what_is_malformed_is_named(data: bytes, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        await collected(data)
    assert (caught.value.message, caught.value.code) == (message, "invalid_multipart")


@pytest.mark.parametrize(
    ("content_type", "boundary"),
    [
        ("multipart/form-data; boundary=abc", "abc"),
        ('multipart/form-data; boundary="a b;c"', "a b;c"),
        ("multipart/form-data; charset=utf-8; Boundary=abc; x=y", "abc"),
        ("multipart/form-data;boundary=----=_Part_1:2/3?", "----=_Part_1:2/3?"),
    ],
)
def test_boundaries(content_type: str, boundary: str) -> None:
    assert multipart_body.boundary_of(content_type) == boundary


@pytest.mark.parametrize(
    "content_type", ["multipart/form-data", "multipart/form-data; boundary=", 'x; boundary=""', "", "boundary=x"]
)
def test_a_missing_boundary_is_named(content_type: str) -> None:
    with pytest.raises(BadRequest, match="boundary"):
        multipart_body.boundary_of(content_type)


@pytest.mark.parametrize(
    ("limits", "kind", "message"),
    [
        (Limits(parts=1), BadRequest, "multipart form has more than 1 parts"),
        (Limits(part_bytes=10), BadRequest, "'file' part is 11 bytes, maximum is 10 bytes"),
        (Limits(body_bytes=100), UploadTooLarge, "Body too large: the limit is 100 bytes"),
    ],
)
async def test_limits_name_the_limit(limits: Limits, kind: type[OpenProxyError], message: str) -> None:
    with pytest.raises(kind) as caught:
        await collected(body(FIELD, FILE), 7, limits)
    assert caught.value.message == message


async def test_a_field_that_is_kept_in_memory_has_a_limit_of_its_own() -> None:
    data = body((disposition('name="prompt"'), b"x" * 101), FILE)
    with pytest.raises(BadRequest, match=r"^'prompt' field is larger than 100 bytes$"):
        await multipart_body.read(pieces(data), BOUNDARY, Limits(field_bytes=100))
    assert len((await multipart_body.read(pieces(data), BOUNDARY, Limits(field_bytes=101))).parts) == 2


async def test_reading_stops_at_the_limit_of_the_body() -> None:
    read: list[int] = []

    async def endless() -> AsyncIterator[bytes]:
        yield body(FILE)[:-20]
        while True:
            read.append(1)
            yield b"x" * 1000

    with pytest.raises(UploadTooLarge):
        await multipart_body.read(endless(), BOUNDARY, Limits(body_bytes=50_000))
    assert len(read) == 50


async def test_no_byte_beyond_the_limit_of_a_part_is_given_out() -> None:
    given_out = bytearray()
    reading = multipart_body.events(pieces(body(FILE), 3), BOUNDARY, Limits(part_bytes=5))

    async def forward() -> None:
        async for event in reading:
            if isinstance(event, PartData):
                given_out.extend(event.data)

    with pytest.raises(BadRequest):
        await forward()
    assert given_out == b"RIFF"


async def test_a_whole_form_keeps_order_and_repeated_values(tmp_path: Path) -> None:
    granularity = disposition('name="timestamp_granularities[]"')
    large = (disposition('name="file"; filename="b.mp3"'), bytes(range(256)) * 8000)
    data = body(
        (granularity, b"word"), FILE, (granularity, b"segment"), (disposition('name="e"; filename=""'), b""), large
    )
    with_files = await multipart_body.read(pieces(data, 65536), BOUNDARY, folder=tmp_path)
    name = "timestamp_granularities[]"
    assert with_files.fields == [
        Part(name, None, None, None, b"word"), Part(name, None, None, None, b"segment"), Part("e", "", None, None, b""),
    ]  # fmt: skip
    uploads = [part.upload for part in with_files.files]
    assert [(upload.filename, upload.content_type, upload.size) for upload in uploads if upload] == [
        ("a.wav", "audio/wav", 11),
        ("b.mp3", None, 2_048_000),
    ]
    with uploads[1].open() as source:  # type: ignore[union-attr]
        assert source.read() == large[1]
    assert len(kept(tmp_path)) == 1
    with_files.close()
    assert kept(tmp_path) == []


async def test_every_upload_is_deleted_on_any_failure(tmp_path: Path) -> None:
    large = (disposition('name="file"; filename="b.mp3"'), b"x" * 1_200_000)
    whole = body(large, large)

    async def leaving() -> AsyncIterator[bytes]:
        async for piece in pieces(whole[:-1000], 65536):
            yield piece
        assert len(kept(tmp_path)) == 2
        raise ClientDisconnect

    with pytest.raises(ClientDisconnect):
        await multipart_body.read(leaving(), BOUNDARY, folder=tmp_path)
    assert kept(tmp_path) == []
    for limits in (Limits(parts=1), Limits(part_bytes=1_199_999), Limits(body_bytes=2_000_000)):
        with pytest.raises((BadRequest, UploadTooLarge)):
            await multipart_body.read(pieces(whole, 65536), BOUNDARY, limits, folder=tmp_path)
        assert kept(tmp_path) == []


@given(
    st.lists(st.tuples(st.text(min_size=1, max_size=20), st.binary(max_size=60)), min_size=1, max_size=6),
    st.integers(1, 50),
)
async def test_any_name_written_as_browsers_do_comes_back(parts: list[tuple[str, bytes]], size: int) -> None:
    def quoted(name: str) -> str:
        return name.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")

    usable = [(name, data) for name, data in parts if "%" not in name and "\\" not in name and name.isprintable()]
    form = await multipart_body.read(
        pieces(body(*[(disposition(f'name="{quoted(name)}"'), data) for name, data in usable]), size), BOUNDARY
    )
    assert [(part.name, part.value) for part in form.parts] == usable
