"""An upload is written once, read again and again, and deleted always."""

import stat
from pathlib import Path

import psutil
import pytest

from openproxy.upload import CHUNK_BYTES, MEMORY_BYTES, Kept, TranscriptionRequest, Upload


def filled(folder: Path, *blocks: bytes) -> Upload:
    upload = Upload("a.wav", "audio/wav", folder=folder)
    for block in blocks:
        upload.write(block)
    upload.finish()
    return upload


def test_a_small_one_stays_in_memory(tmp_path: Path) -> None:
    with filled(tmp_path, b"RIFF", bytearray(b"1234"), memoryview(b"5")) as upload:
        assert (upload.filename, upload.content_type, upload.size) == ("a.wav", "audio/wav", 9)
        assert upload.source == b"RIFF12345"
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [3000, 2 * MEMORY_BYTES])
def test_pieces_of_all_sizes_stay_in_order(tmp_path: Path, size: int) -> None:
    content = bytes(number % 251 for number in range(size))
    upload = Upload(folder=tmp_path)
    at = 0
    for number in range(size):
        step = (1, 4096, 7, 4095, 5000)[number % 5]
        piece = content[at : at + step]
        upload.write((bytes, bytearray, memoryview)[number % 3](piece))
        at += step
        if at >= size:
            break
    upload.finish()
    with upload, upload.open() as reader:
        assert reader.read() == content


def test_what_was_written_does_not_change_with_its_buffer(tmp_path: Path) -> None:
    buffer = bytearray(b"a" * 8192)
    with Upload(folder=tmp_path) as upload:
        upload.write(buffer)
        buffer[:] = b"b" * 8192
        upload.write(memoryview(buffer))
        buffer[:] = b"c" * 8192
        upload.finish()
        assert upload.source == b"a" * 8192 + b"b" * 8192


@pytest.mark.parametrize(
    ("size", "on_disk"), [(0, False), (MEMORY_BYTES, False), (MEMORY_BYTES + 1, True), (3 * MEMORY_BYTES, True)]
)
def test_beyond_the_limit_it_moves_to_a_file_of_its_own(tmp_path: Path, size: int, on_disk: bool) -> None:
    content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    step = 100_000
    with filled(tmp_path, *(content[at : at + step] for at in range(0, size, step))) as upload:
        assert upload.size == size
        assert isinstance(upload.source, Path) is on_disk
        assert len(list(tmp_path.iterdir())) == int(on_disk)
        for _ in range(2):
            with upload.open() as reader:
                assert reader.read() == content
        with upload.open() as one, upload.open() as two:
            assert one.read(10) == two.read(10) == content[:10]
    assert list(tmp_path.iterdir()) == []


def test_its_file_is_for_its_owner_only(tmp_path: Path) -> None:
    with filled(tmp_path, b"x" * (MEMORY_BYTES + 1)) as upload:
        source = upload.source
        assert isinstance(source, Path)
        assert source.parent == tmp_path
        assert stat.S_IMODE(source.stat().st_mode) == 0o600


@pytest.mark.parametrize("size", [5, MEMORY_BYTES + 5])
def test_it_is_read_only_between_finish_and_close(tmp_path: Path, size: int) -> None:
    upload = Upload(folder=tmp_path)
    upload.write(b"x" * size)
    with pytest.raises(ValueError, match="after finish"):
        upload.open()
    upload.finish()
    upload.finish()
    with pytest.raises(ValueError, match="finished"):
        upload.write(b"y")
    upload.close()
    upload.close()
    with pytest.raises(ValueError, match="before close"):
        _ = upload.source
    assert list(tmp_path.iterdir()) == []


def test_it_is_deleted_when_writing_is_broken_off(tmp_path: Path) -> None:
    with Upload(folder=tmp_path) as upload:
        upload.write(b"x" * (MEMORY_BYTES + 1))
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [0, 10, 1024 * 1024, 3 * 1024 * 1024 + 7])
async def test_a_spooled_recording_reads_the_same_each_time(tmp_path: Path, size: int) -> None:
    data = bytes(number % 251 for number in range(size))
    with filled(tmp_path, data) as upload:
        recording = Kept(upload.source)
        assert (recording.size, recording.reopenable, tuple(recording.late_fields())) == (size, True, ())
        for _ in range(2):
            pieces = [piece async for piece in recording.chunks()]
            assert b"".join(pieces) == data
            assert all(0 < len(piece) <= (CHUNK_BYTES if size > MEMORY_BYTES else size) for piece in pieces)


def open_below(folder: Path) -> list[str]:
    return [file.path for file in psutil.Process().open_files() if file.path.startswith(str(folder))]


async def test_a_reader_that_is_left_early_is_closed(tmp_path: Path) -> None:
    with filled(tmp_path, bytes(3 * 1024 * 1024)) as upload:
        chunks = Kept(upload.source).chunks()
        assert len(await anext(chunks)) == CHUNK_BYTES
        before = open_below(tmp_path)
        await chunks.aclose()
        assert (len(before), open_below(tmp_path)) == (2, [str(upload.source)])
    assert open_below(tmp_path) == []


async def test_the_last_value_of_a_field_counts_and_lists_keep_all(tmp_path: Path) -> None:
    fields = (
        ("language", "en"),
        ("keywords[]", "a"),
        ("language", " es "),
        ("keywords", "b c"),
        ("keywords[]", " "),
        ("prompt", "  "),
    )
    with filled(tmp_path, b"x") as upload:
        request = TranscriptionRequest("whisper-1", Kept(upload.source), fields=fields)
    assert request.value("language") == "es"
    assert request.value("prompt") is None
    assert request.value("temperature") is None
    assert request.values("keywords") == ("a", "b c")
    assert request.boundary != TranscriptionRequest("whisper-1", request.audio).boundary
