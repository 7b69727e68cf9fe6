"""Transcript -> SubRip (srt) and WebVTT (vtt)."""

from openproxy.errors import FormatUnavailable
from openproxy.formats import cues
from openproxy.formats.cues import Cue
from openproxy.transcript import Transcript


def srt(transcript: Transcript) -> str:
    """SubRip: numbered cues, `Name: ` where the speaker changes; empty where nothing is said.

    Raises FormatUnavailable where there is text without times.
    """
    _needs_times(transcript, "srt")
    return "".join(
        f"{number}\n{_clock(cue.start, ',')} --> {_clock(cue.end, ',')}\n{_without_arrows(cue.lines)}\n\n"
        for number, cue in enumerate(cues.of(transcript, labelled=True), 1)
    )


def vtt(transcript: Transcript) -> str:
    """WebVTT (https://www.w3.org/TR/webvtt1/): cues with a voice span where several speak; the header alone for silence.

    Raises FormatUnavailable where there is text without times.
    """
    _needs_times(transcript, "vtt")
    return "WEBVTT\n\n" + "".join(
        f"{_clock(cue.start, '.')} --> {_clock(cue.end, '.')}\n{_marked_up(cue)}\n\n" for cue in cues.of(transcript)
    )


def _needs_times(transcript: Transcript, name: str) -> None:
    if not transcript.timed:
        raise FormatUnavailable(
            f"{name} needs the times of words or segments, and this transcript does not have them",
            param="response_format",
        )


def _clock(milliseconds: int, point: str) -> str:
    seconds, fraction = divmod(milliseconds, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}{point}{fraction:03}"


def _without_arrows(lines: tuple[str, ...]) -> str:
    """SubRip has no escapes, and an arrow would look like a line of times."""
    return "\n".join(lines).replace("-->", "→")


def _marked_up(cue: Cue) -> str:
    voice = f"<v {_escaped(cue.speaker)}>" if cue.speaker else ""
    return voice + _escaped("\n".join(cue.lines))


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
