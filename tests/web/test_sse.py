from openproxy.web import sse


def test_a_frame_is_one_line_of_compact_json_and_a_blank_line() -> None:
    assert sse.frame({"type": "x", "delta": "a\nb\r\u2028 日本 <&>/"}) == (
        'data: {"type":"x","delta":"a\\nb\\r\u2028 日本 <&>/"}\n\n'.encode()
    )


def test_a_lone_surrogate_does_not_break_the_stream() -> None:
    assert sse.frame({"delta": "a\ud800b"}) == b'data: {"delta":"a?b"}\n\n'


def test_marks() -> None:
    assert (sse.DONE, sse.PING, sse.MEDIA_TYPE) == (b"data: [DONE]\n\n", b":\n\n", "text/event-stream")
