"""`python -m tidemill`, the program `tidemill`: `migrate` needs what the layer needs, the other commands typer and rich."""

from __future__ import annotations

import sys


def main() -> None:
    arguments = sys.argv[1:]
    try:
        from tidemill.cli.main import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        if arguments[:1] == ["migrate"]:
            from tidemill.cli.migrate import migrate

            sys.exit(migrate(arguments[1:]))
        sys.exit("the operator's commands need typer and rich: pip install typer rich (migrate works without)")
    app(prog_name="tidemill")


if __name__ == "__main__":
    main()
