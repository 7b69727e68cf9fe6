"""Field failures of speech servers, posted to a real engine in OpenAI's shape."""

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from support.engine_server import CASES, EngineServer

SPOKEN = {
    "B01_moov_at_end.m4a": "library opens morning closes evening",
    "B02_chrome_mediarecorder.webm": "package house river",
    "B03_list_before_data.wav": "bring green umbrella tomorrow",
    "B03_extensible_24bit.wav": "garden water friday",
    "B04_stream_ffffffff.wav": "sister green apples orange juice",
    "B05_mislabelled_cover.mp3": "doctor call lunch",
    "B07_half_second_word.wav": "stop",
    "B09_left_silent_right_speech.flac": "change my order",
    "B09_two_speakers_two_channels.flac": "help account wrong",
    "B11_spotkanie_zażółć_会议_🎧.wav": "turn left traffic light",
    "B12_word_times.wav": "red car yellow bus white truck",
    "B13_two_sentences_with_gap.ogg": "morning begin lesson",
    "B14_stream_me.wav": "coffee ready kitchen",
    "B19_cat.mp3": "cat sleeping chair",
    "B19_horse.mp3": "swimming lake",
}


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


@pytest.mark.parametrize("name", SPOKEN)
def test_transcribes(openai_engine: EngineServer, name: str) -> None:
    answer = openai_engine.post(name, model="whisper-1")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-request-id"].startswith("req_")
    assert words(SPOKEN[name]) <= words(answer.json()["text"])


def test_recording_without_duration_is_whole(openai_engine: EngineServer) -> None:
    answer = openai_engine.post("B02_chrome_mediarecorder.webm", response_format="verbose_json").json()
    assert answer["duration"] == pytest.approx(4.2, abs=0.3)
    assert answer["language"] == "english"
    assert answer["task"] == "transcribe"
    assert answer["segments"][0]["text"].strip() == answer["text"]


def test_length_is_what_is_there_not_what_the_header_claims(openai_engine: EngineServer) -> None:
    answer = openai_engine.post("B04_stream_ffffffff.wav", response_format="verbose_json").json()
    assert answer["duration"] == pytest.approx(3.65, abs=0.05)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("B06_zero_bytes.wav", "empty"),
        ("B06_five_bytes.webm", "recogni"),
        ("B06_header_only.wav", "no audio samples"),
        ("B06_text_named.mp3", "recogni"),
        ("B06_video_without_audio.mp4", "no audio track"),
    ],
)
def test_nothing_to_decode(openai_engine: EngineServer, name: str, said: str) -> None:
    answer = openai_engine.post(name, model="whisper-1")
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert list(error) == ["message", "type", "param", "code"]
    assert error["type"] == "invalid_request_error"
    assert error["param"] == "file"
    assert said in error["message"].lower()


@pytest.mark.parametrize("name", ["B07_digital_silence_5s.wav", "B07_room_noise_5s.wav"])
def test_silence_is_silent_in_every_format(openai_engine: EngineServer, name: str) -> None:
    bodies = {
        form: openai_engine.post(name, response_format=form) for form in ("json", "text", "srt", "vtt", "verbose_json")
    }
    assert {answer.status_code for answer in bodies.values()} == {200}
    assert bodies["json"].json()["text"] == ""
    assert bodies["text"].content == b""
    assert bodies["srt"].content == b""
    assert bodies["vtt"].text.strip() == "WEBVTT"
    verbose = bodies["verbose_json"].json()
    assert verbose["segments"] == []
    assert verbose["duration"] == pytest.approx(5.0, abs=0.01)


def test_expanding_files_are_refused_while_decoding(openai_engine: EngineServer) -> None:
    before = openai_engine.worker.memory_info().rss
    highest = [before]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            highest.append(openai_engine.worker.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    begun = time.monotonic()
    names = ["B08_six_hours.flac"] * 3 + ["B08_forged_rate.flac"]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(openai_engine.post, names))
    took = time.monotonic() - begun
    done.set()
    watcher.join()
    assert [answer.status_code for answer in answers] == [400] * 4
    assert "maximum is 14400 seconds" in answers[0].json()["error"]["message"]
    assert "maximum of 192000 Hz" in answers[3].json()["error"]["message"]
    assert took < 10
    assert max(highest) - before < 300 * 1024 * 1024
    assert openai_engine.post("B14_stream_me.wav").status_code == 200


@pytest.mark.parametrize("form", ["json", "text", "srt", "vtt", "verbose_json"])
def test_a_file_name_of_any_script(openai_engine: EngineServer, form: str) -> None:
    answer = openai_engine.post("B11_spotkanie_zażółć_会议_🎧.wav", response_format=form)
    assert answer.status_code == 200
    assert "traffic" in answer.text
    assert all(value.isascii() for value in answer.headers.values())


@pytest.mark.parametrize(
    "disposition",
    [
        b'form-data; name="file"; filename="x.wav"; filename*=UTF-8\'\'%E4%BC%9A%E8%AE%AE.wav',
        b'form-data; name="file"; filename="a\\"b\\\\c.wav"',
        b'form-data; name="file"; filename="a%0D%0Ab.wav"',
        b"form-data; name=file; filename=plain.wav",
        'form-data; name="file"; filename="会议.wav"'.encode(),
        b'form-data; name="file"; filename="\xff\xfe.wav"',
        b'form-data; name="file"',
    ],
)
def test_odd_file_names(openai_engine: EngineServer, disposition: bytes) -> None:
    import httpx

    clip = (CASES / "B14_stream_me.wav").read_bytes()
    body = b"--b\r\nContent-Disposition: " + disposition + b"\r\n\r\n" + clip + b"\r\n--b--\r\n"
    answer = httpx.post(
        openai_engine.url + "/v1/audio/transcriptions",
        content=body,
        headers={"content-type": "multipart/form-data; boundary=b"},
        timeout=60,
    )
    assert answer.status_code == 200
    assert "kitchen" in answer.json()["text"]


@pytest.mark.parametrize("field", ["timestamp_granularities[]", "timestamp_granularities"])
def test_word_times(openai_engine: EngineServer, field: str) -> None:
    answer = openai_engine.post(
        "B12_word_times.wav", response_format="verbose_json", **{field: ["word", "segment"]}
    ).json()
    spoken = [word["word"].strip(".,").lower() for word in answer["words"]]
    assert spoken == ["red", "car", "yellow", "bus", "white", "truck"]
    times = [time for word in answer["words"] for time in (word["start"], word["end"])]
    assert times == sorted(times)
    assert 0 <= times[0] < times[-1] <= answer["duration"]
    assert answer["segments"]


def test_word_times_by_number(openai_engine: EngineServer) -> None:
    numbered = {"timestamp_granularities[0]": "word", "timestamp_granularities[1]": "segment"}
    answer = openai_engine.post("B12_word_times.wav", response_format="verbose_json", **numbered).json()
    assert len(answer["words"]) == 6
    assert answer["segments"]
    refused = openai_engine.post("B12_word_times.wav", response_format="json", **numbered)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "timestamp_granularities[0]")


def test_granularities_choose_what_is_there(openai_engine: EngineServer) -> None:
    neither = openai_engine.post("B12_word_times.wav", response_format="verbose_json").json()
    assert "words" not in neither
    assert neither["segments"]
    only = openai_engine.post(
        "B12_word_times.wav", response_format="verbose_json", **{"timestamp_granularities[]": "word"}
    ).json()
    assert len(only["words"]) == 6
    assert "segments" not in only


def test_granularities_need_verbose_json(openai_engine: EngineServer) -> None:
    answer = openai_engine.post("B12_word_times.wav", response_format="json", **{"timestamp_granularities[]": "word"})
    assert answer.status_code == 400
    assert answer.json() == {
        "error": {
            "message": "timestamp_granularities[] is only available with response_format verbose_json, not with json",
            "type": "invalid_request_error",
            "param": "timestamp_granularities[]",
            "code": "invalid_value",
        }
    }


@pytest.mark.parametrize(
    ("form", "content_type"),
    [("text", "text/plain; charset=utf-8"), ("srt", "text/plain; charset=utf-8"), ("vtt", "text/vtt; charset=utf-8")],
)
def test_text_formats(openai_engine: EngineServer, form: str, content_type: str) -> None:
    answer = openai_engine.post("B13_two_sentences_with_gap.ogg", response_format=form)
    assert answer.headers["content-type"] == content_type
    assert not answer.text.startswith('"')
    assert {"morning", "lesson"} <= words(answer.text)
    if form != "text":
        cues = re.findall(r"(\d\d):(\d\d):(\d\d)[,.](\d{3}) --> (\d\d):(\d\d):(\d\d)[,.](\d{3})", answer.text)
        spans = [(int(c[2]) + int(c[3]) / 1000, int(c[6]) + int(c[7]) / 1000) for c in cues]
        assert len(spans) >= 2
        assert spans[-1][0] - spans[-2][1] > 0.5


def test_unknown_format_lists_the_known(openai_engine: EngineServer) -> None:
    answer = openai_engine.post("B13_two_sentences_with_gap.ogg", response_format="xml")
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["param"] == "response_format"
    for name in ("json", "text", "srt", "verbose_json", "vtt", "diarized_json"):
        assert name in error["message"]


@pytest.mark.parametrize("language", ["es", "ES", "es-MX", "es_MX", "spanish", "Spanish", "auto", None])
def test_language_in_any_spelling(base_engine: EngineServer, language: str | None) -> None:
    fields = {} if language is None else {"language": language}
    answer = base_engine.post("B18_spanish.wav", response_format="verbose_json", **fields).json()
    assert {"buenos", "leche"} <= words(answer["text"])
    assert answer["language"] == "spanish"


@pytest.mark.parametrize("language", ["xx", "klingon"])
def test_unknown_language(base_engine: EngineServer, language: str) -> None:
    answer = base_engine.post("B18_spanish.wav", language=language)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["param"] == "language"
    assert " es, " in error["message"]
    assert language in error["message"]


def test_translation(base_engine: EngineServer) -> None:
    path = "/v1/audio/translations"
    answer = base_engine.post("B18_spanish.wav", path, response_format="verbose_json").json()
    assert answer["task"] == "translate"
    assert "coffee" in words(answer["text"])
    assert "coffee" in base_engine.post("B18_spanish.wav", path, response_format="srt").text.lower()
    refused = base_engine.post("B18_spanish.wav", path, response_format="diarized_json")
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == "response_format"


def test_forty_at_once_are_never_swapped_and_health_answers(openai_engine: EngineServer) -> None:
    import httpx

    expected = {"B19_cat.mp3": "cat", "B19_horse.mp3": "swimming"}
    names = [("B19_cat.mp3", "B19_horse.mp3", "B06_zero_bytes.wav")[index % 3] for index in range(40)]
    answered = {"/health": 0, "/ready": 0}
    done = threading.Event()

    def watch() -> None:
        with httpx.Client() as client:
            while not done.is_set():
                for path in answered:
                    assert client.get(openai_engine.url + path).status_code == 200
                    answered[path] += 1
                time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with ThreadPoolExecutor(40) as pool:
            answers = list(pool.map(openai_engine.post, names))
    finally:
        done.set()
        watcher.join()
    busy = 0
    for name, answer in zip(names, answers, strict=True):
        if answer.status_code == 503:
            busy += 1
            assert answer.json()["error"]["message"] == "All slots are busy. Please try again later."
            assert int(answer.headers["retry-after"]) >= 1
        elif name == "B06_zero_bytes.wav":
            assert answer.status_code == 400
        else:
            assert expected[name] in answer.json()["text"].lower()
    assert 0 < busy < 40
    assert min(answered.values()) > 5  # how soon: benchmarks/engine.py
    assert psutil.pid_exists(openai_engine.process.pid)
