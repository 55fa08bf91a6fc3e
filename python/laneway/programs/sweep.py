"""Parameter sweeps: a formula at each point of a grid, as tasks of a pool."""

from __future__ import annotations

import keyword
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laneway.errors import UsageError
from laneway.frames import frame_of
from laneway.task_body import TaskBody
from laneway.task_pool import TaskPool

if TYPE_CHECKING:
    from pandas import DataFrame

CHUNK = 1 << 20
"""Points of one batch."""
MAX_POINTS = 1 << 32


@dataclass(frozen=True)
class SweepResult:
    """What a formula gives at each point of a grid.

    `values[i, j, ...]` belongs to the i-th value of the first parameter, the j-th of the second, and so on; `axes` has
    the parameters' names and values, in the order in which they were given.
    """

    formula: str
    axes: dict[str, NDArray[np.float64]]
    values: NDArray[np.float64]

    def to_pandas(self) -> DataFrame:
        """A pandas data frame with a row for each point: its parameters, and what the formula gives there in the column
        `value`. UsageError where a parameter is called so, ImportError where there is no pandas."""
        if "value" in self.axes:
            raise UsageError("a parameter is called 'value', as the column of the formula's values is")
        points = np.meshgrid(*self.axes.values(), indexing="ij")
        columns = {name: point.reshape(-1) for name, point in zip(self.axes, points)}
        return frame_of({**columns, "value": self.values.reshape(-1)})


def sweep(formula: str, *, devices: str = "", timeout: float = 60.0, **parameters: ArrayLike) -> SweepResult:
    """Calculate a formula for all combinations of its parameters' values.

        lw.sweep("exp(-a * t) * cos(w * t)", a=[0.1, 0.2], w=2.0, t=np.linspace(0, 10, 1000))

    `formula` is an expression of C++, or statements that return a number, with the functions of `<cmath>`; each keyword
    is a parameter and its values, or one value. Parameters are doubles. `devices` are those of a `TaskPool`. Raises
    TaskBodyError for a formula that does not compile, UsageError for names or values that are none, and TaskError,
    which names the point, where it throws.
    """
    axes = {name: _axis(name, given) for name, given in parameters.items()}
    shape = tuple(len(axis) for axis in axes.values())
    points = int(np.prod([float(n) for n in shape]))
    if points > MAX_POINTS:
        raise UsageError(f"a sweep has {MAX_POINTS} points at most, not {points:.3g}")
    body = TaskBody(_source(formula, list(axes)), name="formula")
    values = np.empty(points)
    with TaskPool(devices, timeout=timeout) as pool:
        batches = []
        for first in range(0, points, CHUNK):
            here = np.arange(first, min(first + CHUNK, points))
            places = np.unravel_index(here, shape) if shape else ()
            arguments = [axis[place] for axis, place in zip(axes.values(), places)]
            batches.append((here, pool.submit_many(body, *arguments) if shape else pool.submit(body)))
            if len(batches) > 1:  # one is calculated while the next is prepared
                done, future = batches.pop(0)
                values[done] = future.result()
        for done, future in batches:
            values[done] = future.result()
    return SweepResult(formula, axes, values.reshape(shape))


def require_name(name: str) -> None:
    """UsageError for what cannot be the name of a parameter, in Python and in C++."""
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name) or name == "formula":
        raise UsageError(f"a parameter cannot be called {name!r}")


def _axis(name: str, given: ArrayLike) -> NDArray[np.float64]:
    require_name(name)
    try:
        axis = np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        raise UsageError(f"{name}: expected numbers, not {given!r}") from None
    if axis.ndim != 1 or len(axis) == 0:
        raise UsageError(f"{name}: expected a value or a list of values, not an array of shape {axis.shape}")
    return axis


def _source(formula: str, names: list[str]) -> str:
    if not isinstance(formula, str) or not formula.strip():
        raise UsageError("a formula is text, and not empty")
    statements = formula if "return" in formula else f"return ({formula});"
    parameters = ", ".join(f"double {name}" for name in names)
    return f"using namespace std;\ndouble formula({parameters}) {{\n#line 1\n{statements}\n}}\n"
