"""Results as pandas data frames, where pandas is installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    from pandas import DataFrame


def frame_of(
    columns: Mapping[str, NDArray[Any]], ids: NDArray[Any] | None = None, name: str | None = None
) -> DataFrame:
    """A data frame with copies of the columns; `ids` are its index, by their own type, which is called `name`.

    Raises ImportError where there is no pandas.
    """
    try:
        import pandas
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        raise ImportError("data frames need pandas: pip install pandas") from None

    def kind(values: NDArray[Any]) -> Any:
        return object if values.dtype == object else None  # pandas would make another type of names

    # Tuples are names of vertices like any other, not levels of an index.
    index = None if ids is None else pandas.Index(ids, dtype=kind(ids), name=name, tupleize_cols=False)
    series = {name: pandas.Series(values, index, kind(values)) for name, values in columns.items()}
    return pandas.DataFrame(series, copy=True)
