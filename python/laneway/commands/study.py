"""The commands `study styles`, `study forkjoin`, `study service` and `study messaging`."""

from __future__ import annotations

import typer

from laneway.commands.study_forkjoin import forkjoin
from laneway.commands.study_messaging import messaging
from laneway.commands.study_service import service
from laneway.commands.study_styles import styles

study = typer.Typer(no_args_is_help=True, help="Measure one thing against another.")
study.command(epilog="[bold]Example[/bold]  laneway study styles --devices cuda:0-3 --plot styles.png")(styles)
study.command(epilog="[bold]Example[/bold]  laneway study forkjoin --devices cuda:0 --plot forkjoin.png")(forkjoin)
study.command(epilog="[bold]Example[/bold]  laneway study service --devices cuda:0-1 --plot service.png")(service)
study.command(epilog="[bold]Example[/bold]  laneway study messaging --devices cuda:0-1 --plot messaging.png")(messaging)


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(study, name="study")
