"""The smallest Typer program: what `--help` costs without anything of ours."""

import typer

app = typer.Typer()


@app.command()
def main() -> None:
    """Do nothing."""


if __name__ == "__main__":
    app()
