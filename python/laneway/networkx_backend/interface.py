"""What NetworkX calls: the object of the entry point `networkx.backends`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from laneway.networkx_backend.conversion import convert_from_nx, convert_to_nx
from laneway.networkx_backend.graph import Graph
from laneway.networkx_backend.table import OFFERED
from laneway.networkx_backend.versions import older_than


class Interface:
    """Has the functions that `table.OFFERED` names as attributes, loaded when first asked for."""

    convert_from_nx = staticmethod(convert_from_nx)
    convert_to_nx = staticmethod(convert_to_nx)

    def __getattr__(self, name: str) -> Any:
        if name not in OFFERED:
            raise AttributeError(f"laneway does not offer {name} to NetworkX")
        function = getattr(import_module(f"laneway.networkx_backend.{OFFERED[name].module}"), name)
        setattr(self, name, function)
        return function

    def can_run(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
        """Whether a call can run here, as far as its arguments tell; else why not. What only the graph tells, as its
        weights, its conversion refuses."""
        arguments = self._arguments(name, args, kwargs)
        if arguments is None:
            return False
        why = next((why for refusal in OFFERED[name].refusals if (why := refusal(arguments))), None)
        return why is None or (False if older_than("3.3") else why)  # to which a reason was as good as True

    def should_run(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
        """Whether to convert for a call that names no backend. Not for one pair of nodes: NetworkX has found a path
        before the whole graph is converted."""
        arguments = self._arguments(name, args, kwargs) or {}
        graph, ends = arguments.get("G"), (arguments.get("source"), arguments.get("target"))
        if None in ends or isinstance(graph, Graph):
            return True
        cache = getattr(graph, "__networkx_cache__", None) or {}
        return bool(cache.get("backends", {}).get("laneway")) or "one pair is not worth converting the graph"

    def _arguments(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
        """By name, defaults included; None where they do not fit."""
        try:
            bound = inspect.signature(getattr(self, name)).bind(*args, **kwargs)
        except TypeError:
            return None
        bound.apply_defaults()
        return bound.arguments


backend = Interface()
