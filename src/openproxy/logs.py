"""Log records of both programs: one handler on the root logger, and no secret in what it writes.

Redaction works on the finished line, so that it also sees the arguments of a record, its traceback, and a key that
only the words before it give away. A server that brings its own log configuration must be told not to use it
(`uvicorn.run(..., log_config=None)`), and then writes through here as well.
"""

import logging
import re
import sys
from typing import TextIO
from urllib.parse import quote

REDACTED = "[redacted]"

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"

_registered: set[str] = set()

_PATTERNS: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = tuple(
    (tuple(marks.split()), re.compile(pattern, re.IGNORECASE if insensitive else 0), replacement)
    for marks, pattern, replacement, insensitive in (
        # keys that show what they are: OpenAI and its kin, our own, Groq, Hugging Face, Google, AWS, GitHub
        ("sk- pk- rk- op-", r"\b(?:sk|pk|rk|op)-[A-Za-z0-9_-]{8,}", REDACTED, False),
        (
            "gsk hf- hf_ ghp gho xai nvapi r8- r8_",
            r"\b(?:gsk|hf|ghp|gho|xai|nvapi|r8)[_-][A-Za-z0-9_-]{12,}",
            REDACTED,
            False,
        ),
        ("aiza", r"\bAIza[A-Za-z0-9_-]{30,}", REDACTED, False),
        ("ya29", r"\bya29\.[A-Za-z0-9._-]{8,}", REDACTED, False),
        ("eyj", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)?", REDACTED, False),
        # headers: every scheme after Authorization, and the bare schemes with something long enough for a key
        (
            "authorization",
            r"(authorization\b['\"]?\s*[:=,]\s*(?:b(?=['\"]))?+['\"]?+(?:bearer|token|key|basic)\s+)[^\s'\",;]+",
            rf"\1{REDACTED}",
            True,
        ),
        (
            "authorization",
            r"(authorization\b['\"]?\s*[:=,]\s*(?:b(?=['\"]))?+['\"]?+)(?!(?:bearer|token|key|basic)\b)[^\s'\",;]+",
            rf"\1{REDACTED}",
            True,
        ),
        ("bearer", r"\b(bearer\s+)[A-Za-z0-9._~+/=-]{6,}", rf"\1{REDACTED}", True),
        ("token key", r"\b((?:token|key)\s+)(?=[A-Za-z0-9._~+/=-]*\d)[A-Za-z0-9._~+/=-]{16,}", rf"\1{REDACTED}", True),
        # header, JSON and keyword spellings of a named secret
        (
            "key token secret passw cookie",
            r"((?:x-goog-api-key|xi-api-key|x-api-key|api[_-]?key|access[_-]?token|refresh[_-]?token|client[_-]?secret"
            r"|secret|password|passwd|cookie|set-cookie)\b['\"]?\s*[:=,]\s*(?:b(?=['\"]))?+['\"]?+)(?!\[redacted\])[^\s'\",;&]+",
            rf"\1{REDACTED}",
            True,
        ),
        # URLs: query parameters that carry a secret, and user:password@
        (
            "? &",
            r"([?&](?:key|token|auth|sig|signature|[a-z_-]*(?:api[_-]?key|token|secret|password))=)(?!\[redacted\])[^&\s'\"#]+",
            rf"\1{REDACTED}",
            True,
        ),
        ("://", r"(\b[a-z][a-z0-9+.-]*://)[^/\s:@'\"]*:[^/\s@'\"]+@", rf"\1{REDACTED}@", True),
    )
)

_TALKATIVE = ("aiosqlite",)
"""Loggers of libraries that write down the values of every statement, sealed secrets and hashes among them, when debugging."""

_SUSPICIOUS = tuple({mark for marks, _, _ in _PATTERNS for mark in marks})
"""One of a pattern's marks stands, in any case, in every line that it changes; most lines have none at all."""


def register_secret(value: str) -> None:
    """From now on, `value` never appears in a log line, whatever stands around it. Shorter than 4 characters is ignored."""
    if len(value) >= 4:
        _registered.update({value, quote(value, safe="")})


def redact(text: str) -> str:
    """`text` with every registered secret, and all that looks like a key, replaced by `[redacted]`."""
    for secret in sorted(_registered.copy(), key=len, reverse=True):
        text = text.replace(secret, REDACTED)
    lowered = text.lower()
    if not any(mark in lowered for mark in _SUSPICIOUS):
        return text
    for marks, pattern, replacement in _PATTERNS:
        if any(mark in lowered for mark in marks):
            text = pattern.sub(replacement, text)
    return text


class RedactingFormatter(logging.Formatter):
    """Formats a record with its traceback, then takes the secrets out of all of it."""

    def __init__(self) -> None:
        super().__init__(_FORMAT)

    def format(self, record: logging.LogRecord) -> str:
        """The finished line; characters that cannot be encoded (parts of broken file names) are written as escapes."""
        return redact(super().format(record)).encode("utf-8", "backslashreplace").decode("utf-8")


def setup(level: int | str = logging.INFO, stream: TextIO | None = None) -> None:
    """Make one redacting handler on the root logger (to `stream`, by default standard error) the only one there is."""
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(RedactingFormatter())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper() if isinstance(level, str) else level)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.INFO)
    logging.captureWarnings(True)
