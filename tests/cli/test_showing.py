import io

import pytest

from openproxy.cli.showing import Document, Live, Sections
from openproxy.cli.standard_output import StandardOutput
from openproxy.transcript import Transcript

PIECES = [" Good morning", ", everyone. ", "", " ", "Let us begin."]


def live(pieces: list[str], *, terminal: bool) -> str:
    stream = io.BytesIO()
    showing = Live(StandardOutput(stream, terminal=terminal))
    for piece in pieces:
        showing.piece(piece)
    showing.done(0, "a", Transcript("".join(pieces).strip()))
    return stream.getvalue().decode()


def test_pieces_are_the_text_format_when_joined() -> None:
    assert live(PIECES, terminal=False) == "Good morning, everyone.  Let us begin.\n"
    assert live(PIECES, terminal=False).strip() == "".join(PIECES).strip()


def test_on_a_terminal_each_segment_has_a_line() -> None:
    assert live(PIECES, terminal=True) == "Good morning\n, everyone.\nLet us begin.\n"


@pytest.mark.parametrize("terminal", [False, True])
def test_a_piece_is_there_at_once(terminal: bool) -> None:
    stream = io.BytesIO()
    Live(StandardOutput(stream, terminal=terminal)).piece(" Hello.")
    assert stream.getvalue().decode().strip() == "Hello."


def test_silence_is_nothing() -> None:
    assert live([], terminal=False) == ""
    assert live([" "], terminal=False) == ""


def test_a_text_without_segments_is_written_whole() -> None:
    stream = io.BytesIO()
    Live(StandardOutput(stream, terminal=False)).done(0, "a", Transcript("All of it."))
    assert stream.getvalue() == b"All of it.\n"


def test_a_failure_in_mid_text_ends_its_line() -> None:
    stream = io.BytesIO()
    showing = Live(StandardOutput(stream, terminal=False))
    showing.piece(" Half")
    showing.failed(0)
    assert stream.getvalue() == b"Half\n"


def test_a_document_ends_with_a_line_break() -> None:
    for body, expected in [(b"{}", b"{}\n"), (b"WEBVTT\n", b"WEBVTT\n"), (b"", b"")]:
        stream = io.BytesIO()
        Document(StandardOutput(stream, terminal=False), lambda _, body=body: body).done(0, "a", Transcript(""))
        assert stream.getvalue() == expected


def test_sections_come_in_order_whichever_is_done_first() -> None:
    stream = io.BytesIO()
    showing = Sections(StandardOutput(stream, terminal=False), lambda transcript: transcript.text.encode())
    showing.done(2, "c.wav", Transcript("third"))
    showing.failed(1)
    assert stream.getvalue() == b""
    showing.done(0, "a.wav", Transcript("first"))
    showing.done(3, "spotkanie_会议.wav", Transcript("fourth"))
    assert stream.getvalue().decode() == (
        "==> a.wav <==\nfirst\n\n==> c.wav <==\nthird\n\n==> spotkanie_会议.wav <==\nfourth\n"
    )


def test_broken_names_are_spelled_out() -> None:
    stream = io.BytesIO()
    StandardOutput(stream, terminal=False).line({"file": "broken\udcff.wav", "text": "żółć"})
    assert stream.getvalue() == '{"file": "broken\\udcff.wav", "text": "żółć"}\n'.encode()
