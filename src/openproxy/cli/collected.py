"""`openproxy --robot transcribe`: the lines about all recordings, gathered into one envelope."""

from io import BytesIO
from typing import Any

from openproxy.cli import robot
from openproxy.cli.global_options import GlobalOptions
from openproxy.cli.standard_output import StandardOutput


class Collected(StandardOutput):
    """Takes what would go to standard output, and keeps the JSON lines."""

    def __init__(self) -> None:
        super().__init__(BytesIO(), terminal=False)
        self._lines: list[dict[str, Any]] = []

    def line(self, value: dict[str, Any]) -> None:
        """Keep the line about one recording."""
        self._lines.append(value)

    def answer(self, options: GlobalOptions) -> None:
        """Write the envelope: of an error where a recording failed, with what became of the others."""
        failed = [line for line in self._lines if not line["ok"]]
        if not failed:
            options.answer("transcribe", {"recordings": self._lines})
            return
        first = failed[0]
        told = f"{len(failed)} of {len(self._lines)} failed: {first['file']}: {first['error']['message']}"
        self.fail(robot.CommandError("other", told))

    def fail(self, error: robot.CommandError) -> None:
        """Write the envelope of an error."""
        robot.write(robot.failure(robot.CommandError(error.code, error.message, {"recordings": self._lines})))
