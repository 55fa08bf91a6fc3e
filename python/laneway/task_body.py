"""Bodies of tasks as C++ source text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from laneway.body_functions import last_function, refuse_text
from laneway.body_library import cache_folder, load_body, own_folder
from laneway.errors import TaskBodyError, UsageError
from laneway.file_names import PathLike, as_path
from laneway.gpu_bodies import GpuBody
from laneway.task_kinds import BODY_TYPES, ScalarKind


def _is_word(flag: object) -> bool:
    return isinstance(flag, str) and flag.isprintable()


class TaskBody(ScalarKind):
    """A function in C++17, compiled now, that a `TaskPool` runs on its devices.

        square = lw.TaskBody("double square(double x) { return x * x; }")

    It is the last function that the text defines, or the one that `name` names, `"geometry::area"` for instance. It
    takes any number of arguments, by value or const reference, and returns one value or nothing: numbers of up to 8
    bytes, bools, and trivially copyable structs, which are bytes in Python, or of the NumPy type that `result` says.
    Tasks run at the same time, so what the text keeps in variables of its own needs to bear that. What it throws is the
    `TaskError` of its future.

    The compiler is that of the variable `CXX`, else `c++`, `g++` or `clang++`; `flags` come behind the package's own,
    `-std=c++17 -O2`. Common headers of the standard library are there, others the text includes. What has been compiled
    is kept in the folder `cache`, by default `laneway/bodies` below `$XDG_CACHE_HOME` or `~/.cache`; nobody else may
    write to it, and a warning says what a full disk has no room for. Raises TaskBodyError, with the compiler's words,
    for text that does not compile or has no such function.

    For a pool with GPUs the same text is compiled by NVRTC when it is submitted there first, with those of the `flags`
    that begin with -D, -U or -I, and linked by nvJitLink into the pool's program. A GPU throws nothing, and has of the
    standard library what CUDA's `cuda/std` has.

    `runs_on` says which devices of a pool take its tasks: "cpu", "gpu" or "all". Those of a body for CPU devices alone
    are not compiled for GPUs.
    """

    def __init__(
        self,
        source: str,
        name: str | None = None,
        *,
        result: DTypeLike | None = None,
        flags: Sequence[str] = (),
        cache: PathLike | None = None,
        runs_on: str = "all",
    ) -> None:
        if not isinstance(source, str):
            raise UsageError(f"the source of a body is text, not {type(source).__name__}")
        if name is not None and (not isinstance(name, str) or not all(p.isidentifier() for p in name.split("::"))):
            raise TaskBodyError(f"name must be that of a function, not {name!r}")
        if isinstance(flags, str) or not isinstance(flags, Sequence) or not all(map(_is_word, flags)):
            raise UsageError(f"flags must be a list of words, not {flags!r}")
        if not isinstance(runs_on, str) or runs_on not in BODY_TYPES:
            raise UsageError(f"runs_on must be {', '.join(BODY_TYPES)}, not {runs_on!r}")
        try:
            source.encode()
            wanted = None if result is None else np.dtype(result)
        except (UnicodeEncodeError, TypeError) as error:
            raise UsageError(f"a TaskBody cannot be made of that: {error}") from None
        refuse_text(source)
        folder = cache_folder() if cache is None else own_folder(as_path(cache, "the name of the cache's folder"))
        entry = name or last_function(source)
        types = load_body(source, entry, tuple(flags), folder)
        super().__init__(entry, BODY_TYPES[runs_on], types.inputs, types.input_bytes, types.result, types.address)
        self.source = source
        self.runs_on = runs_on
        self.address = types.address
        self.for_gpus = GpuBody(source, entry, tuple(flags), folder, (types.input_bytes, self._result_bytes))
        self._restored = (source, name, result, tuple(flags), cache, runs_on)
        if wanted is not None:
            self._take_result_type(wanted)

    @property
    def argument_types(self) -> tuple[np.dtype[Any], ...]:
        """What the compiler found; structs are `V` and their size."""
        return tuple(np.dtype(code) for code in self._codes)

    @property
    def result_type(self) -> np.dtype[Any] | None:
        """The same of the result; None where there is none."""
        return (self._result_type or np.dtype(self._result)) if self._result_bytes else None

    def _take_result_type(self, wanted: np.dtype[Any]) -> None:
        fits = wanted.itemsize == self._result_bytes and wanted.isnative and wanted.subdtype is None
        if self._result[0] != "V" or not fits or wanted.hasobject:
            raise UsageError(f"{self.name} returns {self._result}, which is not the {wanted} that result= says")
        self._result_type = wanted
        self._decode = lambda content: np.frombuffer(content, wanted)[0]

    def __repr__(self) -> str:
        return f"<laneway.TaskBody: {self.name}>"

    def __reduce__(self) -> Any:
        return _restored, self._restored


def _restored(
    source: str,
    name: str | None,
    result: DTypeLike | None,
    flags: Sequence[str],
    cache: PathLike | None,
    runs_on: str = "all",
) -> TaskBody:
    return TaskBody(source, name, result=result, flags=flags, cache=cache, runs_on=runs_on)
