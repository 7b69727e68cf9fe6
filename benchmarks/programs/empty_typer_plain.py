"""The smallest Typer program with help in plain text, as OpenProxy has it: Rich is not imported."""

import typer

app = typer.Typer(rich_markup_mode=None)


@app.command()
def main() -> None:
    """Do nothing."""


if __name__ == "__main__":
    app()
