"""What versions of NetworkX do differently."""

from __future__ import annotations

from typing import Any

import networkx as nx


def older_than(version: str) -> bool:
    """Whether the NetworkX that is there is older: "3.5" is a whole release."""
    return _numbers(nx.__version__) < _numbers(version)


def pairs_before(version: str, found: dict[Any, Any]) -> Any:
    """A dictionary, which older versions give as an iterator of pairs."""
    return iter(found.items()) if older_than(version) else found


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
