"""Reading numbers of vertices from a file."""

from __future__ import annotations

from laneway.errors import UsageError
from laneway.file_names import PathLike, as_path


def read_vertex_numbers(path: PathLike) -> dict[int, float]:
    """Numbers of vertices from text with a line `VERTEX NUMBER` each; blank lines and what follows `#` do not count.

    Raises UsageError for a file that is missing or broken, and for a vertex that comes twice, naming the line.
    """
    numbers: dict[int, float] = {}
    path = as_path(path, "the name of the file of vertices")
    try:
        with path.open(encoding="utf-8") as file:
            for at, line in enumerate(file, 1):
                words = line.split("#")[0].split()
                if not words:
                    continue
                vertex, number = _parse(words, f"{path}:{at}")
                if vertex in numbers:
                    raise UsageError(f"{path}:{at}: vertex {vertex} comes twice")
                numbers[vertex] = number
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is no text") from None
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    return numbers


def _parse(words: list[str], where: str) -> tuple[int, float]:
    try:
        vertex, number = words
        return int(vertex), float(number)
    except ValueError:
        raise UsageError(f"{where}: expected a vertex and a number, not {' '.join(words)[:40]!r}") from None
