"""A plugin for NetworkX's own tests in backend mode: tells which of Laneway's functions have run, which have refused,
and which calls `can_run` has left to NetworkX, in the file that `LANEWAY_TEST_CALLS` names."""

from __future__ import annotations

import functools
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any, Callable

from laneway.networkx_backend.interface import backend
from laneway.networkx_backend.table import OFFERED

ran: Counter[str] = Counter()
refused: Counter[str] = Counter()
left: dict[str, Counter[str]] = {}  # by function, then by reason


def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            result = function(*args, **kwargs)
        except NotImplementedError:
            refused[name] += 1
            raise
        except Exception:
            ran[name] += 1  # what NetworkX raises, too
            raise
        ran[name] += 1
        return result

    return call


def asked(can_run: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(can_run)
    def call(name: str, args: Any, kwargs: Any) -> Any:
        answer = can_run(name, args, kwargs)
        if answer is not True:
            left.setdefault(name, Counter())[str(answer)] += 1
        return answer

    return call


backend.can_run = asked(backend.can_run)  # type: ignore[method-assign]
for name in OFFERED:
    setattr(backend, name, counted(name, getattr(backend, name)))


def pytest_sessionfinish() -> None:
    Path(os.environ["LANEWAY_TEST_CALLS"]).write_text(json.dumps({"ran": ran, "refused": refused, "left": left}))
