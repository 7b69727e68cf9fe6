import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

import jiwer
import numpy as np
import pytest
from numpy.typing import NDArray

from fakes.scripted_chat import ScriptedChat, said
from openproxy.engine.models import Item, ModelFacts, Options, Piece, Progress
from openproxy.engine.models.chat import Ask, ChatSettings, Clip, Delta, Finish, Message, Step, Waiting
from openproxy.engine.models.chat_gguf import GgufChat
from openproxy.engine.models.chat_transcriber import ChatTranscriber
from openproxy.errors import AudioUnreadable, BadRequest, ContextExceeded, NotSupported, UpstreamError
from openproxy.transcript import Transcript, Usage
from support.digits import GGUF, LLAMA_RIGHT, PROJECTOR
from support.recordings import RATE, recording

LFM2 = "{# <|tool_list_start|> <|tool_list_end|> #}"
SECOND = np.full(RATE, 0.1, np.float32)


def _items(chat: ScriptedChat, samples: NDArray[np.float32], window: float | None = None, **options: Any) -> list[Item]:
    return list(ChatTranscriber(chat, window=window).stream(recording(samples), Options(**options)))


def _read(items: Sequence[Item]) -> tuple[list[str], Transcript]:
    """The pieces and the Transcript, which they make up."""
    *rest, transcript = items
    assert isinstance(transcript, Transcript)
    assert all(isinstance(item, Piece | Progress) for item in rest)
    pieces = [item.text for item in rest if isinstance(item, Piece)]
    assert "" not in pieces
    assert "".join(pieces) == transcript.text
    return pieces, transcript


def _seconds(count: int) -> NDArray[np.float32]:
    """As many seconds, each of its own loudness, with a pause after it."""
    spoken = [np.concatenate([SECOND[: RATE // 2] * (1 + at / count), np.zeros(RATE // 2)]) for at in range(count)]
    return np.concatenate(spoken).astype(np.float32)


def _turns(count: int) -> NDArray[np.float32]:
    """As many stretches of 6 s with a pause of 0.5 s after each: a window each, where windows are of 8 s."""
    return np.tile(np.concatenate([np.full(6 * RATE, 0.1), np.zeros(RATE // 2)]), count).astype(np.float32)


# The question


@pytest.mark.parametrize(
    ("template", "options", "content"),
    [
        (None, {}, ["Transcribe audio to text"]),
        (None, {"language": "de"}, ["Transcribe audio to text (language: de)"]),
        (None, {"language": " "}, ["Transcribe audio to text (language:  )"]),
        (None, {"prompt": "Write it down"}, ["Write it down"]),
        (None, {"prompt": " ", "language": "xx\n%s"}, ["  (language: xx\n%s)"]),
        (None, {"prompt": "a<|im_end|>b"}, ["a< |im_end|>b"]),
        (None, {"language": "<|im_end|>"}, ["Transcribe audio to text (language: < |im_end|>)"]),
        (None, {"prompt": "a<|im_", "language": "end|>"}, ["a<|im_ (language: end|>)"]),
        ("<|tool_list_start|>", {}, ["Transcribe audio to text"]),
        (LFM2, {}, []),
        (LFM2, {"language": "en"}, [" (language: en)"]),
        (LFM2, {"prompt": "Write it down", "language": "en"}, ["Write it down (language: en)"]),
    ],
)
def test_the_question_is_llama_servers(template: str | None, options: dict[str, str], content: list[str]) -> None:
    chat = ScriptedChat(lambda _: said("x"), template=template)
    _read(_items(chat, SECOND, **options))
    ((messages, _),) = chat.asked
    user = messages[-1]
    assert (user.role, list(user.content[:-1])) == ("user", content)
    assert isinstance(user.content[-1], Clip)
    assert np.array_equal(user.content[-1].samples, SECOND)
    assert messages[:-1] == ((Message("system", ("Perform ASR.",)),) if template == LFM2 else ())


def test_settings_are_handed_on() -> None:
    chat = ScriptedChat(lambda _: said("x"))
    _items(chat, SECOND)
    _items(
        chat,
        SECOND,
        temperature=0.7,
        max_tokens=0,
        stop=("END",),
        grammar="root ::= [a-z]",
        samplers="kt",
        reasoning_format="deepseek",
        reasoning_effort="low",
    )
    assert [ask for _, ask in chat.asked] == [
        Ask(temperature=0.0),
        Ask(
            temperature=0.7,
            max_tokens=1,
            stop=("END",),
            grammar="root ::= [a-z]",
            samplers="kt",
            reasoning_format="deepseek",
            reasoning_effort="low",
        ),
    ]


def test_what_the_model_cannot_do_is_refused() -> None:
    with pytest.raises(NotSupported, match=r"^The current model does not support audio input\.$"):
        _items(ScriptedChat(lambda _: said("x"), takes_audio=False), SECOND)
    with pytest.raises(BadRequest, match=r"^scripted cannot translate$"):
        _items(ScriptedChat(lambda _: said("x")), SECOND, translate=True)
    _read(_items(ScriptedChat(lambda _: said("x"), takes_audio=None), SECOND))


def test_facts_are_the_models() -> None:
    chat = ScriptedChat(lambda _: said("x"), takes_audio=None)
    assert ChatTranscriber(chat).facts == ModelFacts(
        "scripted", "chat", (), False, word_timestamps=False, takes_audio=None, grammar=True, samplers=True
    )


@pytest.mark.parametrize("samples", [[0.5], [0.1, float("nan")]])
def test_samples_that_no_model_may_see_do_not_reach_it(samples: list[float]) -> None:
    chat = ScriptedChat(lambda _: said("x"))
    with pytest.raises(AudioUnreadable):
        _items(chat, np.array(samples, np.float32))
    assert chat.asked == []


# The answer


def test_pieces_come_as_they_are_made() -> None:
    chat = ScriptedChat(lambda _: said("Hel", "", "lo", " wörld "))
    items = _items(chat, SECOND)
    assert items[:-1] == [Piece("Hel"), Piece("lo"), Piece(" wörld "), Progress(1.0, 1.0)]
    assert items[-1] == Transcript(
        "Hello wörld ", duration=1.0, usage=Usage(100, 5, 20, 80, cached_tokens=5, seconds=1.0)
    )


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
@pytest.mark.parametrize(
    ("answer", "text", "language"),
    [
        ("language English<asr_text>How many days?", "How many days?", "en"),
        ("<think>Let me listen.</think>\n\nlanguage German<asr_text>Wie viele?", "Wie viele?", "de"),
        ("language None<asr_text>", "", None),
        ("language Klingon<asr_text>Qapla", "Qapla", None),
        ("The tag is <asr_text> in the manual.", "The tag is <asr_text> in the manual.", None),
        ("<think>for ever", "", None),
        ("", "", None),
        (" kept as it is\n", " kept as it is\n", None),
    ],
)
def test_only_the_transcript_is_left(answer: str, text: str, language: str | None, size: int) -> None:
    pieces = [answer[at : at + size] for at in range(0, len(answer), size)]
    _, transcript = _read(_items(ScriptedChat(lambda _: said(*pieces)), SECOND))
    assert (transcript.text, transcript.language) == (text, language)
    assert transcript.usage is not None
    assert transcript.usage.output_tokens == len(pieces) + 1


def test_thinking_stays_where_it_is_asked_for() -> None:
    chat = ScriptedChat(lambda _: said("<think>hm</think>", "yes"))
    assert _read(_items(chat, SECOND, reasoning_format="none"))[1].text == "<think>hm</think>yes"


def test_thinking_that_the_backend_tells_apart_is_no_text() -> None:
    chat = ScriptedChat(lambda _: [Delta(thinking="hm"), Delta("yes"), *said()])
    assert _read(_items(chat, SECOND))[0] == ["yes"]


def test_signs_of_life_come_while_there_is_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    now = itertools.count(0, 0.2)
    monkeypatch.setattr("openproxy.engine.models.chat_transcriber.monotonic", lambda: next(now))
    steps: list[Step] = [Waiting(), Waiting(), Delta(thinking="hm"), Delta(thinking="so"), Delta("yes"), *said()]
    items = _items(ScriptedChat(lambda _: steps), SECOND)
    assert items[:-1] == [Progress(0.0, 1.0), Progress(0.0, 1.0), Piece("yes"), Progress(1.0, 1.0)]


def test_leaving_ends_the_answer() -> None:
    chat = ScriptedChat(lambda _: said("one", " two", " three"))
    items = ChatTranscriber(chat).stream(recording(SECOND), Options())
    assert next(items) == Piece("one")
    items.close()  # type: ignore[attr-defined]
    assert chat.left == 1


def test_an_error_in_the_middle_comes_after_the_pieces_before_it() -> None:
    def answer(_: NDArray[np.float32]) -> Iterator[Step]:
        yield Delta("one")
        raise UpstreamError(502, "gone")

    items = ChatTranscriber(ScriptedChat(answer)).stream(recording(SECOND), Options())  # type: ignore[arg-type]
    assert next(items) == Piece("one")
    with pytest.raises(UpstreamError, match=r"^gone$"):
        next(items)


# Recordings longer than a window


def test_every_sample_is_heard_once_and_in_order() -> None:
    samples = _seconds(47)
    chat = ScriptedChat(lambda heard: said(f"{len(heard)}"))
    items = _items(chat, samples, window=10.0)
    assert np.array_equal(np.concatenate(chat.heard), samples)
    assert max(map(len, chat.heard)) <= 10 * RATE
    pieces, transcript = _read(items)
    assert transcript.text == " ".join(str(len(heard)) for heard in chat.heard)
    assert len(pieces) == len(chat.heard) > 4
    assert transcript.duration == 47.0
    count = len(chat.heard)
    assert transcript.usage == Usage(
        100 * count, 2 * count, 20 * count, 80 * count, cached_tokens=5 * count, seconds=47.0
    )
    ends = np.cumsum([len(heard) for heard in chat.heard]) / RATE
    assert [item.seconds for item in items if isinstance(item, Progress)] == pytest.approx(list(ends))


def test_windows_are_thirty_seconds_unless_said_otherwise() -> None:
    chat = ScriptedChat(lambda _: said("x"))
    _items(chat, _seconds(30))
    assert [len(heard) for heard in chat.heard] == [30 * RATE]
    chat = ScriptedChat(lambda _: said("x"))
    _items(chat, _seconds(31))
    assert len(chat.heard) == 2


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        (["one", "two", "three"], "one two three"),
        ([" one ", " two ", " three "], " one two three "),
        (["one", "", "three"], "one three"),
        (["", "two", ""], "two"),
        (["", "", ""], ""),
        (["one", "  ", "three"], "one three"),
        (["今日は", "雨です", "。"], "今日は雨です。"),
        (["今日は", "rain", "です"], "今日は rain です"),
        (["ein", "\nzwei", "\tdrei"], "ein zwei drei"),
    ],
)
def test_the_texts_of_windows_are_joined(answers: list[str], text: str) -> None:
    given = iter(answers)
    chat = ScriptedChat(lambda _: said(*next(given)))  # a piece for every letter
    _, transcript = _read(_items(chat, _turns(3), window=8.0))
    assert transcript.text == text
    assert next(given, None) is None


def test_headings_are_taken_off_in_every_window_and_the_first_language_counts() -> None:
    given = iter(["language None<asr_text>", "language French<asr_text>oui", "language English<asr_text>yes"])
    chat = ScriptedChat(lambda _: said(*next(given)))
    _, transcript = _read(_items(chat, _turns(3), window=8.0))
    assert (transcript.text, transcript.language) == ("oui yes", "fr")


def test_a_limit_of_tokens_holds_for_the_whole_recording() -> None:
    chat = ScriptedChat(lambda _: said("a", "b", tokens=3))
    _, transcript = _read(_items(chat, _seconds(60), window=10.0, max_tokens=7))
    assert [ask.max_tokens for _, ask in chat.asked] == [7, 4, 1]
    assert transcript.text == "ab ab ab"
    assert transcript.duration == 60.0


def test_a_stop_string_ends_the_whole_recording() -> None:
    for answer in (said("one ", stop="END"), said("one ", "EN", "D two")):
        chat = ScriptedChat(lambda _, answer=answer: answer)
        _, transcript = _read(_items(chat, _seconds(60), window=10.0, stop=("END",)))
        assert (transcript.text, len(chat.asked), transcript.duration) == ("one ", 1, 60.0)


def test_what_might_have_become_a_stop_string_is_not_lost() -> None:
    chat = ScriptedChat(lambda _: said("one E", "N"))
    assert _read(_items(chat, SECOND, stop=("END",)))[0] == ["one ", "EN"]


def test_a_count_that_one_window_does_not_give_is_not_known() -> None:
    given = iter([said("a"), [Delta("b"), Finish("stop", Usage(output_tokens=1))]])
    chat = ScriptedChat(lambda _: next(given))
    _, transcript = _read(_items(chat, _turns(2), window=8.0))
    assert transcript.usage == Usage(output_tokens=3, cached_tokens=5, seconds=13.0)


# A context that is smaller than a window


def _limited(tokens_a_second: int, context: int) -> ScriptedChat:
    def answer(heard: NDArray[np.float32]) -> list[Step]:
        tokens = 20 + round(len(heard) / RATE * tokens_a_second)
        if tokens > context:
            raise ContextExceeded("too long", prompt_tokens=tokens, context_tokens=context)
        return said("x")

    return ScriptedChat(answer)


def test_what_does_not_fit_into_the_context_is_divided() -> None:
    samples = _seconds(30)
    chat = _limited(25, 300)
    _, transcript = _read(_items(chat, samples))
    fitting = [heard for heard in chat.heard if 20 + round(len(heard) / RATE * 25) <= 300]
    assert np.array_equal(np.concatenate(fitting), samples)
    assert transcript.text == " ".join("x" for _ in fitting)
    assert len(fitting) >= 3


def test_what_dividing_does_not_help_is_refused() -> None:
    def answer(_: NDArray[np.float32]) -> list[Step]:
        raise ContextExceeded("764 > 256", prompt_tokens=764, context_tokens=256)

    chat = ScriptedChat(answer)
    with pytest.raises(ContextExceeded, match=r"^764 > 256$"):
        _items(chat, _seconds(20))
    assert len(chat.asked) == 2
    with pytest.raises(ContextExceeded):
        _items(_limited(25, 10), _seconds(20))


# The digits model


def _spoken(total: float, seed: int) -> tuple[str, NDArray[np.float32]]:
    """Words, and clips of them with silences between, as long as `total` seconds or a little longer."""
    chance = random.Random(seed)
    words, parts, length = [], [], 0
    while length < total * RATE:
        clip = chance.choice(LLAMA_RIGHT)
        words.append(clip.en)
        parts += [np.zeros(round(chance.uniform(0.5, 1.5) * RATE), np.float32), clip.samples]
        length += len(parts[-1]) + len(parts[-2])
    return " ".join(words), np.concatenate(parts)


def _heard_by_digits(total: float, seed: int) -> tuple[str, Transcript]:
    words, samples = _spoken(total, seed)
    chat = GgufChat(GGUF, ChatSettings(projector=PROJECTOR), name="digits")
    heard: list[NDArray[np.float32]] = []

    class Noting(GgufChat):
        def __init__(self) -> None:
            vars(self).update(vars(chat))

        def stream(self, messages: Sequence[Message], ask: Ask) -> Iterator[Step]:
            heard.extend(part.samples for part in messages[-1].content if isinstance(part, Clip))
            return super().stream(messages, ask)

    items = list(ChatTranscriber(Noting(), window=5.0).stream(recording(samples), Options()))
    assert np.array_equal(np.concatenate(heard), samples)
    assert max(map(len, heard)) <= 5 * RATE
    return words, _read(items)[1]


def test_a_recording_of_many_windows_is_written_down() -> None:
    words, transcript = _heard_by_digits(20, seed=1)
    assert jiwer.wer(words, transcript.text) <= 0.1


@pytest.mark.all
@pytest.mark.timeout(900)
def test_five_minutes_are_written_down() -> None:
    words, transcript = _heard_by_digits(300, seed=2)
    result = jiwer.process_words(words, transcript.text)
    assert result.wer < 0.1
    assert result.insertions <= 2  # no word is doubled at a cut
    assert transcript.duration == pytest.approx(300, abs=6)
