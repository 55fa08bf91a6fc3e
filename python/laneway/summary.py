"""What a run is reported as: the table on the terminal and the JSON file."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from laneway import _core
from laneway._core import Graph
from laneway.paths import Result
from laneway.verify import Verification


@dataclass(frozen=True)
class Summary:
    """One run of a shortest-paths program, with all that its report shows."""

    program: str
    path: str
    graph: Graph
    source: int
    result: Result
    load_seconds: float
    verification: Verification | None

    @property
    def shown_path(self) -> str:
        """The graph's path with ? for what cannot be printed: line ends, bytes that are no text."""
        return "".join(letter if letter.isprintable() else "?" for letter in self.path)

    @property
    def mean_messages_a_chunk(self) -> float:
        chunks = int(self.result.report.chunks.sum())
        return self.result.report.carried / chunks if chunks else 0.0

    @property
    def remote_share(self) -> float:
        report = self.result.report
        return report.carried / report.posted if report.posted else 0.0

    @property
    def distance_unit(self) -> str:
        """What a distance of 1 stands for; the graph's whole weights are `weight_scale` times those of its file."""
        if self.program == "bfs":
            return "arc"
        scale = self.graph.weight_scale
        return "weight" if scale == 1 else f"weight / {scale}"

    def as_json(self) -> dict[str, Any]:
        """Everything in plain numbers; times in seconds, sizes in bytes."""
        result, report, graph = self.result, self.result.report, self.graph
        reached = result.distance[result.distance >= 0]
        check = self.verification
        return {
            "program": self.program,
            "version": _core.version,
            "graph": {
                "path": self.path,
                "vertices": graph.vertices,
                "arcs": graph.arcs,
                "weighted": graph.weighted,
                "weight_scale": graph.weight_scale,
            },
            "source": self.source,
            "devices": list(report.devices),
            "seconds": {
                "load": self.load_seconds,
                "partition": result.partition_seconds,
                "run": report.run_seconds,
            },
            "work": {"items": result.items, "least_items": result.least_items, "delta": result.delta},
            "messages": {
                "posted": report.posted,
                "direct": report.direct,
                "carried": report.carried,
                "served": report.served,
                "chunks": int(report.chunks.sum()),
                "bytes": int(report.bytes.sum()),
                "mean_a_chunk": self.mean_messages_a_chunk,
                "remote_share": self.remote_share,
            },
            "result": {
                "reached": result.reached,
                "max": int(reached.max()),
                "sum": exact_sum(reached),
                "checksum": result.checksum,
                "distance_unit": self.distance_unit,
            },
            "verified": None
            if check is None
            else {
                "reference": check.reference,
                "seconds": check.seconds,
                "mismatches": check.mismatches,
                "first_mismatch": check.first_mismatch,
            },
            "traffic": {"messages": report.messages.tolist(), "bytes": report.bytes.tolist()},
            "progress": [
                {"seconds": t * 1e-9, "served": served, "open": open_work}
                for t, served, open_work in report.progress.tolist()
            ],
        }

    def as_table(self) -> Table:
        """The short table that the command prints."""
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0), title_justify="left")
        table.title = Text(f"{self.program} {self.shown_path} from vertex {self.source}", style="bold")
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in self._rows():
            table.add_row(name, value)
        return table

    def _rows(self) -> list[tuple[str, str]]:
        result, report, graph = self.result, self.result.report, self.graph
        greatest = int(result.distance.max())
        over = result.items / result.least_items if result.least_items else 0.0
        rows = [
            ("devices", f"{len(report.devices)}: {device_ranges(list(report.devices))}"),
            ("vertices", f"{graph.vertices:,}"),
            ("arcs", f"{graph.arcs:,}"),
            ("reached", f"{result.reached:,}, farthest {greatest:,}"),
            (
                "time",
                f"load {seconds(self.load_seconds)}, partition {seconds(result.partition_seconds)}, "
                f"run {seconds(report.run_seconds)}",
            ),
            ("work items", f"{result.items:,} done, {result.least_items:,} the least possible ({over:.2f} times)"),
            ("messages", f"{report.posted:,} posted, {report.carried:,} carried, {report.served:,} served"),
            ("bytes", f"{int(report.bytes.sum()):,} carried"),
            ("messages a chunk", f"{self.mean_messages_a_chunk:,.1f} on average"),
            ("remote messages", f"{100 * self.remote_share:.1f} %"),
            ("checksum", str(result.checksum)),
        ]
        if self.distance_unit not in ("arc", "weight"):
            rows.insert(4, ("distance unit", f"1/{graph.weight_scale} of the file's unit of weight"))
        if self.verification is not None:
            rows.append(("verified", self._verified(self.verification)))
        return rows

    def _verified(self, check: Verification) -> str:
        if check.mismatches:
            return f"[red]no[/red]: {check.mismatches:,} vertices differ from {check.reference}; {check.first_mismatch}"
        ratio = check.seconds / max(self.result.report.run_seconds, 1e-9)
        return f"[green]yes[/green], against {check.reference}, which took {seconds(check.seconds)} ({ratio:.1f} times)"


def seconds(value: float) -> str:
    """A time with three digits and the unit that suits it."""
    if value >= 1:
        return f"{value:.3g} s"
    if value >= 1e-3:
        return f"{value * 1e3:.3g} ms"
    return f"{value * 1e6:.3g} µs"


def device_ranges(names: list[str]) -> str:
    """Device names with runs of neighbours drawn together: "cuda:0-3, cpu:0"."""

    def place(item: tuple[int, str]) -> tuple[str, int]:
        kind, _, index = item[1].partition(":")
        return kind, int(index or 0) - item[0]

    parts = []
    for _, run in groupby(enumerate(names), place):
        members = [name for _, name in run]
        last = members[-1].partition(":")[2]
        parts.append(members[0] if len(members) == 1 else f"{members[0]}-{last}")
    return ", ".join(parts)


def exact_sum(values: NDArray[np.int64]) -> int:
    """Sum of values that are not negative, also where 64 bits do not hold it."""
    high, low = values >> 32, values & 0xFFFFFFFF
    return (int(high.sum()) << 32) + int(low.sum())
