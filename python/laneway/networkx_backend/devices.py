"""The devices on which calls of NetworkX run, and what stays there between them."""

from __future__ import annotations

import atexit
import os
from threading import RLock
from typing import Any

import networkx as nx

from laneway.networkx_backend.info import default_config
from laneway.session import Session

_lock = RLock()
_open: tuple[dict[str, Any], Session] | None = None


def session() -> Session:
    """The session of this process, with the settings of now: others open a new one. UsageError for settings that are
    wrong."""
    global _open
    wanted = _settings()
    with _lock:
        if _open is None or _open[0] != wanted:
            close()
            _open = (wanted, Session(**wanted))
        return _open[1]


def close() -> None:
    """Give the devices back, with all that is kept of graphs there. The next call opens them again."""
    global _open
    with _lock:
        if _open is not None:
            _open[1].close()
        _open = None


def _settings() -> dict[str, Any]:
    """Those of NetworkX's configuration, where it has one: since 3.3."""
    backends = getattr(getattr(nx, "config", None), "backends", None)
    given = getattr(backends, "laneway", None)
    found = default_config() if given is None else {name: getattr(given, name) for name in default_config()}
    return {name: value for name, value in found.items() if value is not None}


def _begin_anew() -> None:
    """In a process that was forked off: the devices are its parent's, and the lock may be, too."""
    global _lock, _open
    _lock, _open = RLock(), None


atexit.register(close)
os.register_at_fork(after_in_child=_begin_anew)
