"""The frame of commands that run a program: the options that all of them take."""

from __future__ import annotations

from inspect import Parameter
from pathlib import Path
from typing import Any, Callable, Optional

import typer

from laneway.account import Account
from laneway.arguments import BUFFER_BYTES
from laneway.commands.signature import parameter, parameters_of, set_parameters
from laneway.errors import UsageError
from laneway.job import run_job
from laneway.outputs import Outputs

DEVICES = typer.Option(
    "",
    help="cuda, cuda:0-3, cpu, cpu:4, cuda:0,cpu:2, or checked:2: CPU devices for tests; "
    "--seed interleaves their lanes.",
    show_default="every GPU, else every core",
)
SEED = typer.Option(1, help="Of checked devices: which interleaving of their lanes runs; the same seed, the same run.")
TIMEOUT = typer.Option(60.0, help="Deadline of the run in seconds; on checked devices one is ten million steps.")
BUFFERS = typer.Option(BUFFER_BYTES, help="Most bytes that the library's buffers and rings take on a device.")
JSON = typer.Option(None, help="Write the run's report as JSON.")
PLOT = typer.Option(None, help="Draw the run's progress and traffic: .png, .svg or .pdf.")
TIMELINE = typer.Option(
    None,
    "--timeline",
    "--trace",
    help="Write what devices did over time, for `laneway report` and Perfetto: Chrome's trace format, .json. "
    "`laneway trace` is about other traces, those of MPI programs.",
)


def add_program(
    app: typer.Typer,
    name: str,
    body: Callable[..., Account],
    *,
    summary: str,
    examples: list[str],
    verify: str,
    verify_with: str = "",
    output: str | None = None,
    output_name: str = "--output",
    output_ending: str = ".npz",
) -> None:
    """Give `app` the command `laneway NAME`.

    `body(job, ...)` takes a Job and its own typer arguments and options; it reads its input with `job.load`, calls the
    program with `**job.options` and returns an Account. The command gets --devices, --seed, --timeout, --buffer-bytes,
    --verify, --json, --plot and --timeline as well, and --output (`output_name`) where there is something to write:
    `verify` and `output` are their help texts; `output_ending` is what its name must end in, empty where it may end in
    anything. Where `verify_with` is what help calls a file, --verify takes one: Job.reference.
    """

    def command(
        devices: str,
        seed: int,
        timeout: float,
        buffer_bytes: int,
        verify: bool | str | None,
        json: Path | None,
        plot: Path | None,
        timeline: Path | None,
        output: Path | None = None,
        **own: Any,
    ) -> None:
        if verify == "":
            raise UsageError("--verify: the name is empty")
        outputs = Outputs(output, json, plot, timeline, output_ending)
        run_job(
            name,
            lambda job: body(job, **own),
            devices=devices,
            seed=seed,
            timeout=timeout,
            buffer_bytes=buffer_bytes,
            verify=verify or False,
            outputs=outputs,
        )

    set_parameters(command, [*parameters_of(body, skip=1), *_shared_options(verify, verify_with, output, output_name)])
    lines = "\n".join(f"  laneway {example}\n" for example in examples)
    app.command(name, help=summary, epilog=f"\n[bold]Examples[/bold]\n\n{lines}")(command)


def _shared_options(verify: str, verify_with: str, output: str | None, output_name: str) -> list[Parameter]:
    options = [
        parameter("devices", str, DEVICES),
        parameter("verify", Optional[str], typer.Option(None, "--verify", metavar=verify_with, help=verify))
        if verify_with
        else parameter("verify", bool, typer.Option(False, "--verify", help=verify)),
        parameter("json", Optional[Path], JSON),
        parameter("plot", Optional[Path], PLOT),
        parameter("timeline", Optional[Path], TIMELINE),
        parameter("seed", int, SEED),
        parameter("timeout", float, TIMEOUT),
        parameter("buffer_bytes", int, BUFFERS),
    ]
    if output is not None:
        options.append(parameter("output", Optional[Path], typer.Option(None, output_name, help=output)))
    return options
