"""Audio of any kind -> mono float32 at 16 kHz, in blocks and under limits."""

from openproxy.audio.clip import DEFAULT_LIMITS, Audio, open_audio
from openproxy.audio.limits import Limits
from openproxy.audio.resampling import RATE

__all__ = ["DEFAULT_LIMITS", "RATE", "Audio", "Limits", "open_audio"]
