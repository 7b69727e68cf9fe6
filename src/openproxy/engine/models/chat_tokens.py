"""From tokens to text as they come: never half a character, and joined exactly what decoding them all at once gives."""

from typing import Any

_HALF = "\ufffd"
"""What decoding makes of the first bytes of a character."""


class Detokenizer:
    """The text of one answer, token by token, by a tokenizer of transformers. Control tokens have no text."""

    def __init__(self, tokenizer: Any):
        self._tokenizer = tokenizer
        self._tokens: list[int] = []
        self._start = 0
        self._shown = 0

    def feed(self, token: int) -> str:
        """What the text is longer by; "" while a character is incomplete.

        The tokens before are decoded along with the new one, for its text may depend on them (spaces between words).
        """
        self._tokens.append(token)
        before = self._decoded(self._tokens[self._start : self._shown])
        text = self._decoded(self._tokens[self._start :])
        if text.endswith(_HALF) or len(text) <= len(before):
            return ""
        self._start, self._shown = self._shown, len(self._tokens)
        return text[len(before) :]

    def _decoded(self, tokens: list[int]) -> str:
        decoded: str = self._tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return decoded
