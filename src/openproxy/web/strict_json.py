"""JSON as RFC 8259 has it: what Python reads beyond that could be neither stored, nor sent on, nor shown again."""

import json
from typing import Any, NoReturn


class NotJson(ValueError):
    """The text is no JSON; `reason` tells why, in words for a client."""

    def __init__(self, reason: str, place: str = ""):
        super().__init__(reason + place)
        self.reason = reason


class TooDeep(NotJson):
    """More objects and lists within one another than Python reads."""


def loads(content: bytes) -> Any:
    """The value of JSON in UTF-8, with a byte order mark or without. Raises NotJson."""
    try:
        text = content.decode("utf-8-sig")
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError:
        raise NotJson("the body is not UTF-8") from None
    except UnicodeEncodeError:
        raise NotJson("a text holds half of a surrogate pair") from None
    except json.JSONDecodeError as error:
        raise NotJson(error.msg, f": line {error.lineno} column {error.colno} (char {error.pos})") from None
    except RecursionError:
        raise TooDeep("it is nested too deeply") from None
    except NotJson:
        raise
    except ValueError:
        # Python reads whole numbers of up to 4300 digits
        raise NotJson("a number is too long") from None
    return value


def _no_number(name: str) -> NoReturn:
    raise NotJson(f"{name} is not a number of JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise NotJson("a number is too large")
    return value
