import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.command import CASES, SCRIPT, SPEECH, run, start

CAT = CASES / "B19_cat.mp3"
HORSE = CASES / "B19_horse.mp3"
CAT_TEXT = b"The cat is sleeping on the chair.\n"
HORSE_TEXT = b"The horse is swimming in the lake.\n"


def copies(folder: Path, **names: Path) -> Path:
    for name, source in names.items():
        target = folder / name.replace("__", ".")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    return folder


def test_one_recording_on_standard_output() -> None:
    done = run("transcribe", CAT)
    assert (done.returncode, done.stdout) == (0, CAT_TEXT)
    assert done.stderr.startswith(f"{CAT}: 0:03 in ".encode())
    assert done.stderr.endswith(b"x real time)\n")


def test_quiet_says_nothing_else() -> None:
    done = run("transcribe", "-q", CAT)
    assert (done.returncode, done.stdout, done.stderr) == (0, CAT_TEXT, b"")
    done = run("transcribe", "-q", "gone.mp3")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


def test_a_pipe_with_a_format() -> None:
    done = run("transcribe", "-", "-f", "json", stdin=CAT.read_bytes())
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "text": "The cat is sleeping on the chair.",
        "usage": {"type": "duration", "seconds": pytest.approx(2.5, abs=0.1)},
    }


def test_silence_is_an_empty_text() -> None:
    done = run("transcribe", "-q", CASES / "B07_digital_silence_5s.wav")
    assert (done.returncode, done.stdout) == (0, b"")


def test_several_on_standard_output_under_their_names(tmp_path: Path) -> None:
    copies(tmp_path, a__mp3=CAT, b__mp3=HORSE)
    done = run("transcribe", "*.mp3", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout == b"==> a.mp3 <==\n" + CAT_TEXT + b"\n==> b.mp3 <==\n" + HORSE_TEXT
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mp3", "b.mp3"]


def test_a_folder_into_a_folder_while_one_is_bad(tmp_path: Path) -> None:
    copies(tmp_path / "in", talk__mp3=CAT, talk__wav=CASES / "B14_stream_me.wav", bad__mp3=CASES / "B06_text_named.mp3")
    copies(tmp_path / "in" / "deep", horse__mp3=HORSE, notes__txt=CASES / "B06_text_named.mp3")
    done = run(
        "transcribe", "-r", "in", "-f", "srt", "-f", "vtt", "-f", "txt", "-o", "out", "--jobs", "2", cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (1, b"")
    summary = b"1 of 4 failed:\n  in/bad.mp3: the file is not recognised as audio"
    assert summary in done.stderr
    written = sorted(
        str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()
    )
    assert written == [
        f"{name}.{ending}" for name in ("deep/horse", "talk.mp3", "talk.wav") for ending in ("srt", "txt", "vtt")
    ]
    assert (tmp_path / "out" / "talk.mp3.txt").read_bytes() == CAT_TEXT
    assert (tmp_path / "out" / "deep" / "horse.txt").read_bytes() == HORSE_TEXT
    assert (tmp_path / "out" / "talk.mp3.vtt").read_bytes().startswith(b"WEBVTT\n\n00:00")
    assert (tmp_path / "out" / "talk.mp3.srt").read_bytes().startswith(b"1\n00:00:0")


def test_with_a_format_transcripts_lie_beside_the_recordings(tmp_path: Path) -> None:
    copies(tmp_path, cat__mp3=CAT)
    copies(tmp_path / "more", horse__mp3=HORSE)
    done = run("transcribe", "cat.mp3", "more/horse.mp3", "-f", "text", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"")
    assert (tmp_path / "cat.txt").read_bytes() == CAT_TEXT
    assert (tmp_path / "more" / "horse.txt").read_bytes() == HORSE_TEXT


def test_what_exists_is_kept_replaced_or_left_out(tmp_path: Path) -> None:
    copies(tmp_path, cat__mp3=CAT)
    transcript = tmp_path / "cat.txt"
    transcript.write_bytes(b"mine\n")

    done = run("transcribe", "cat.mp3", "-o", "cat.txt", cwd=tmp_path)
    assert (done.returncode, transcript.read_bytes()) == (1, b"mine\n")
    assert done.stderr == b"error: cat.mp3: cat.txt exists (--overwrite replaces it, --skip-existing keeps it)\n"

    done = run("transcribe", "cat.mp3", "-o", "cat.txt", "--skip-existing", cwd=tmp_path)
    assert (done.returncode, transcript.read_bytes()) == (0, b"mine\n")
    assert done.stderr == b"cat.mp3: skipped, its outputs exist\n"

    done = run("transcribe", "cat.mp3", "-o", ".", "-f", "text", "-f", "srt", "--skip-existing", cwd=tmp_path)
    assert (done.returncode, transcript.read_bytes()) == (0, b"mine\n")
    assert (tmp_path / "cat.srt").exists()

    done = run("transcribe", "cat.mp3", "-o", "cat.txt", "--overwrite", cwd=tmp_path)
    assert (done.returncode, transcript.read_bytes()) == (0, CAT_TEXT)


def test_a_recording_is_never_written_over(tmp_path: Path) -> None:
    copies(tmp_path, cat__txt=CAT)
    done = run("transcribe", "cat.txt", "-o", ".", "--overwrite", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == b"error: cat.txt: its output cat.txt is one of the recordings\n"
    assert (tmp_path / "cat.txt").read_bytes() == CAT.read_bytes()


def test_json_lines_tell_of_each_recording(tmp_path: Path) -> None:
    copies(tmp_path, cat__mp3=CAT, zero__wav=CASES / "B06_zero_bytes.wav")
    done = run("transcribe", "cat.mp3", "zero.wav", "--json-lines", "--word-timestamps", "-f", "vtt", cwd=tmp_path)
    assert done.returncode == 1
    lines = {line["file"]: line for line in map(json.loads, done.stdout.splitlines())}
    assert lines["zero.wav"] == {
        "file": "zero.wav",
        "ok": False,
        "error": {"message": "the audio file is empty (0 bytes)", "code": "empty_audio"},
    }
    cat = lines["cat.mp3"]
    assert (cat["ok"], cat["text"], cat["language"]) == (True, "The cat is sleeping on the chair.", "en")
    assert cat["outputs"] == ["cat.vtt"]
    assert [word["text"] for word in cat["words"]] == ["The", "cat", "is", "sleeping", "on", "the", "chair."]
    assert all(set(part) == {"start", "end", "text"} for part in (*cat["segments"], *cat["words"]))
    assert not (tmp_path / "zero.vtt").exists()


def test_names_outside_ascii(tmp_path: Path) -> None:
    name = "spotkanie_zażółć_会议_🎧.mp3"
    broken = os.fsdecode(b"broken\xff.mp3")
    shutil.copy(CAT, tmp_path / name)
    shutil.copy(CAT, tmp_path / broken)
    done = run("transcribe", name, broken, "-f", "text", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0
    assert b"broken\\udcff.mp3: 0:0" in done.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "spotkanie_zażółć_会议_🎧.txt",
        os.fsdecode(b"broken\xff.txt"),
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-f", "docx"], b"'docx' is none of json, text, srt, verbose_json, vtt, diarized_json, txt"),
        (["--language", "klingon"], b"Invalid value for '--language': Language 'klingon' is not one of the allowed"),
        (["--temperature", "3"], b"Invalid value for '--temperature': Input should be less than or equal to 1"),
        (["--jobs", "0"], b"Invalid value for '--jobs' / '-j': Input should be greater than or equal to 1"),
        (["-f", "srt", "-f", "vtt", "-o", "x.srt"], b"x.srt names one file, which takes one recording in one format"),
    ],
)
def test_wrong_usage(arguments: list[str], message: bytes) -> None:
    done = run("transcribe", CAT, *arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-m", "no-such-size"], b"error: there is no model 'no-such-size'"),
        (["-f", "diarized_json"], b"error: diarized_json needs to know who speaks"),
        (["--max-seconds", "1"], b"seconds long, maximum is 1 seconds\n"),
        (["--language", "de"], b"tiny.en knows only English, not German"),
    ],
)
def test_what_cannot_be_done_is_one_line(arguments: list[str], message: bytes) -> None:
    done = run("transcribe", CAT, *arguments)
    assert (done.returncode, done.stdout) == (1, b"")
    assert message in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_without_the_engine_it_says_what_to_install() -> None:
    missing = "import sys; sys.modules.update(dict.fromkeys(['av', 'ctranslate2', 'faster_whisper', 'numpy']))"
    program = f"{missing}; sys.argv[0] = 'openproxy'; from openproxy.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program, "transcribe", CAT], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == (
        b"error: the local engine is not installed (av is missing): pip install 'openproxy-stt[engine]'\n"
    )


def test_terminated_it_ends_like_interrupted() -> None:
    process = start("transcribe", "-")
    assert process.stdin is not None
    process.stdin.write(bytes(1024 * 1024))
    process.stdin.flush()
    process.terminate()
    _, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (130, b"interrupted\n")


def test_interrupted_while_it_reads_a_pipe_it_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()
    environ = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    process = start("transcribe", "-", "-f", "text", "-o", "out", cwd=tmp_path, environ=environ)
    assert process.stdin is not None
    process.stdin.write(bytes(4 * 1024 * 1024))
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (130, b"interrupted\n")
    assert [path.name for path in tmp_path.rglob("*")] == ["temporary"]


def test_interrupted_at_work_it_keeps_what_is_whole(tmp_path: Path) -> None:
    names = [f"{number:02}" for number in range(12)]
    for name in names:
        shutil.copy(SPEECH / "jfk.wav" if name != "00" else CAT, tmp_path / f"{name}.wav")
    process = start("transcribe", ".", "-f", "text", "-o", "out", cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not (tmp_path / "out" / "00.txt").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stderr.endswith(b"interrupted\n")
    written = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert written.pop("00.txt") == CAT_TEXT
    assert set(written) < {f"{name}.txt" for name in names}
    assert all(body.endswith(b"do for your country.\n") for body in written.values())


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    process = start("transcribe", "-q", CAT, HORSE)
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (141, b"")


@pytest.mark.parametrize("format_", ["text", "json"])
def test_standard_output_that_takes_nothing_is_an_error(format_: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [SCRIPT, "transcribe", CAT, "-f", format_], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert done.returncode == 1
    assert done.stderr.endswith(b": No space left on device\n")
    assert done.stderr.count(b"\n") == 1


def test_on_a_terminal_there_is_a_bar_and_text_as_it_comes() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen([SCRIPT, "transcribe", SPEECH / "jfk.wav"], stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(ours)
    assert process.wait(timeout=30) == 0
    assert "━".encode() in shown
    assert b"jfk.wav: 0:11 in " in shown
    assert b"do for your country.\r\n" in shown
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")
