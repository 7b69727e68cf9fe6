"""What a clip may be: length, sample rate, channels and bytes, each with the message that names the limit and the value."""

from dataclasses import dataclass

from openproxy.errors import AudioTooLong

HIGHEST_RATE = 1_000_000
"""Hz. Beyond any recording: the rate that is refused even where `max_rate` is None, as the filters grow with it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """None means without a limit. The texts are those of contracts/engine.md, section 11."""

    max_seconds: float | None
    """Of decoded audio, whatever the header claims."""
    max_rate: int | None = 192_000
    """Hz."""
    max_channels: int | None = 8
    max_bytes: int | None = None
    """Of the file as it was sent."""

    def check_bytes(self, size: int) -> None:
        """Raise AudioTooLong (audio_too_large) for a file of more than `max_bytes`."""
        if self.max_bytes is not None and size > self.max_bytes:
            raise AudioTooLong(
                f"audio upload is {size} bytes, maximum is {self.max_bytes} bytes", code="audio_too_large"
            )

    def check_format(self, rate: int, channels: int) -> None:
        """Raise AudioTooLong (audio_sample_rate, audio_channels) for a `rate` in Hz or a number of channels too high."""
        highest = HIGHEST_RATE if self.max_rate is None else self.max_rate
        if rate > highest:
            raise AudioTooLong(
                f"audio sample rate {rate} Hz exceeds the maximum of {highest} Hz", code="audio_sample_rate"
            )
        if self.max_channels is not None and channels > self.max_channels:
            raise AudioTooLong(f"audio has {channels} channels, maximum is {self.max_channels}", code="audio_channels")

    def check_seconds(self, seconds: float, *, complete: bool = True) -> None:
        """Raise AudioTooLong (audio_too_long) for more seconds than `max_seconds`, to the tenth that the message shows.

        Where `complete` is False, `seconds` were counted up to here and more was to come.
        """
        if self.max_seconds is None or seconds <= self.max_seconds or round(seconds, 1) <= self.max_seconds:
            return
        length = f"{seconds:.1f}" if complete else f"more than {self.max_seconds:.1f}"
        raise AudioTooLong(
            f"audio is {length} seconds long, maximum is {self.max_seconds:.15g} seconds", code="audio_too_long"
        )
