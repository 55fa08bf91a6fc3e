"""Signatures put together from parts; typer makes arguments and options of them."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Callable, get_type_hints


def parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """A parameter that typer reads: `default` is a typer.Argument or typer.Option."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def parameters_of(function: Callable[..., Any], skip: int) -> list[inspect.Parameter]:
    """The parameters of a function behind the first `skip`, with annotations that are types."""
    hints = get_type_hints(function)
    own = list(inspect.signature(function).parameters.values())[skip:]
    return [parameter(each.name, hints[each.name], each.default) for each in own]


def set_parameters(function: Callable[..., Any], parameters: Sequence[inspect.Parameter]) -> None:
    """Let a function that takes **values show these parameters."""
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {each.name: each.annotation for each in parameters}
