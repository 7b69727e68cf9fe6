"""An upload is written once, read again and again, and deleted always."""

import stat
from pathlib import Path

import pytest

from openproxy.upload import MEMORY_BYTES, Upload


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
