"""The reference of the command line, as typer knows it, in place of the marker <!-- commands --> of a page.

The commands are loaded from the sources without the compiled module, of which they need only that its names are there.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import typer.main
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
MARKER = "<!-- commands -->"


class Uncompiled(ModuleType):
    """Stands where `laneway._core` would: every name is there, and is a class that nobody makes an object of."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def application() -> Any:
    """The commands, as a group of click's: typer has it of click, or brings its own, depending on its version. The
    modules that they need stay loaded, as the site is built by a process of its own."""
    core = Uncompiled("laneway._core")
    options = (ROOT / "include" / "laneway" / "base" / "options.hpp").read_text()
    factor, power = re.findall(r"buffer_bytes = (\d+) << (\d+)", options)[0]
    core.default_buffer_bytes = int(factor) << int(power)
    core.version = "0"
    sys.modules.setdefault("laneway._core", core)
    if str(ROOT / "python") not in sys.path:
        sys.path.insert(0, str(ROOT / "python"))
    return typer.main.get_command(import_module("laneway.app").app_of())


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    if MARKER not in markdown:
        return markdown
    group = application()
    return markdown.replace(MARKER, "\n".join(described(group, "laneway", 2)))


def described(group: Any, name: str, level: int) -> list[str]:
    """Each command of a group, and those of the groups in it."""
    parts: list[str] = []
    for command_name, command in group.commands.items():
        called = f"{name} {command_name}"
        subcommands = hasattr(command, "commands")
        if not subcommands or command.invoke_without_command:
            parts += [f"{'#' * level} {called}\n", *page_of(command, called)]
        if subcommands:
            parts += described(command, called, level)
    return parts


def page_of(command: Any, called: str) -> list[str]:
    context = command.make_context(called, [], resilient_parsing=True)
    pieces = " ".join(command.collect_usage_pieces(context))
    usage = re.sub(r"{.+?}|\[.+?\]", lambda name: name[0].strip("{}").upper(), pieces).replace("......", "...")
    records = [each.get_help_record(context) for each in command.params]
    parts = [f"{plain(command.help)}\n", f"```text\n{called} {usage}\n```\n"]
    parts += ["| argument or option | meaning | default |", "|---|---|---|", *map(row_of, filter(None, records)), ""]
    examples = [line.strip() for line in plain(command.epilog).splitlines() if line.strip().startswith("laneway")]
    return [*parts, "```sh", *examples, "```\n"] if examples else parts


def row_of(record: tuple[str, str]) -> str:
    """A parameter as on the help page. A note in brackets at its end tells the default, or that it is required."""
    names, meaning = (plain(text).replace("|", "\\|") for text in record)
    meaning, _, note = meaning.partition("  [")
    note = note.rstrip("]").removeprefix("default: ").strip("()")
    return f"| `{names}` | {meaning} | {note} |"


def plain(text: str | None) -> str:
    """Without the marks of the terminal's layout."""
    return re.sub(r"\[/?(bold|dim|italic)\]", "", text or "").strip()
