"""What Parsl's own tests need to run with a `LanewayExecutor`: the file that their `--config` names, and a plugin."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from laneway.parsl import LanewayExecutor
from parsl.config import Config
from pluggy import HookimplOpts


def fresh_config() -> Config:
    """Two devices, and as many threads for Python functions as Parsl's own thread executor has in its tests."""
    return Config(executors=[LanewayExecutor(devices="cpu:2", host_threads=4)], usage_tracking=0)


_known = pytest.PytestPluginManager.parse_hookimpl_opts


def _without_old_hooks(self: pytest.PytestPluginManager, plugin: Any, name: str) -> HookimplOpts | None:
    """Parsl's tests ask for pytest 7. One of their hooks has an argument that pytest 9 no longer gives; it leaves out
    folders that are not asked for here."""
    is_old = name == "pytest_ignore_collect" and "path" in inspect.signature(getattr(plugin, name)).parameters
    return None if is_old else _known(self, plugin, name)


pytest.PytestPluginManager.parse_hookimpl_opts = _without_old_hooks  # type: ignore[method-assign]
