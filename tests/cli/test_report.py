import io

import pytest

from openproxy.cli import report
from openproxy.cli.report import Bars, Lines
from openproxy.engine.models import Progress


def test_clock() -> None:
    assert [report.clock(seconds) for seconds in (0, 9.4, 59.6, 247, 3600, 7325)] == [
        "0:00",
        "0:09",
        "1:00",
        "4:07",
        "1:00:00",
        "2:02:05",
    ]


def test_speed() -> None:
    assert report.speed(90, 5) == "18.0x real time"
    assert report.speed(0, 0) == "0.0x real time"


def test_printable_spells_out_what_a_terminal_would_obey() -> None:
    assert report.printable("a\x1b[31mb\nc\udcff żółć 会议.wav") == "a\\x1b[31mb\\nc\\udcff żółć 会议.wav"


def test_lines_say_what_is_said_and_long_work_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(report.time, "monotonic", lambda: now)
    stream = io.StringIO()
    lines = Lines(stream)
    lines.started(0, "long.mp3")
    for now in (104.0, 110.0, 111.0, 121.0):
        lines.advanced(0, Progress((now - 100) * 20, 3600.0))
    lines.ended(0)
    lines.say("long.mp3: done")
    assert stream.getvalue() == (
        "long.mp3: 3:20 of 1:00:00 (20.0x real time)\nlong.mp3: 7:00 of 1:00:00 (20.0x real time)\nlong.mp3: done\n"
    )


def test_lines_tell_of_a_download_from_its_beginning() -> None:
    stream = io.StringIO()
    lines = Lines(stream)
    lines.downloading(0, 75_000_000)
    lines.downloading(1_000_000, 75_000_000)
    assert stream.getvalue() == "downloading the model: 0 of 75 MB\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_bars_move_and_leave_the_terminal_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    bars = Bars(stream, shared=True)
    bars.started(0, "interview_with_a_long_name.mp3")
    bars.advanced(0, Progress(60.0, 120.0))
    with bars.writing():
        stream.write("Hello.\n")
    bars.ended(0)
    bars.say("[interview] 2:00 in 6.0 s")
    bars.close()
    shown = stream.getvalue()
    assert "...h_a_long_name.mp3" in shown
    assert "1:00 of 2:00" in shown
    assert "x real time" in shown
    assert "[interview] 2:00 in 6.0 s\n" in shown
    hidden, visible = "\x1b[?25l", "\x1b[?25h"
    assert shown.count(hidden) == shown.count(visible)
    assert shown.rindex(visible) > shown.rindex(hidden)


def test_which_report_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert type(report.choose(quiet=False, shared=False)) is Lines
    assert type(report.choose(quiet=True, shared=False)) is report.Report
    monkeypatch.setattr("sys.stderr", Terminal())
    chosen = report.choose(quiet=False, shared=False)
    chosen.close()
    assert type(chosen) is Bars
