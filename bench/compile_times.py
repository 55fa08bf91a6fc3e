"""How long small programs take to compile, by two states of the sources in turn, and the ratio of the two.

Each example is compiled to an object by the host's compiler, and by nvcc where there is one, at -O2, as often as --runs
says. Seconds are those of processors, so that what else a machine does hardly matters.

    .venv/bin/python bench/compile_times.py --beside ../before --out bench/results/compile.json
"""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from measure import Row, commit, write_record
from measured_sets import ROOT

GXX = ["-std=c++20", "-O2", "-DLANEWAY_HAS_CUDA=0"]
NVCC = ["-std=c++20", "-O2", "-x", "cu", "-DLANEWAY_HAS_CUDA=1", "--expt-relaxed-constexpr", "--extended-lambda"]


def compilers(arch: str) -> dict[str, list[str]]:
    """The beginning of a command by compiler's name, of those that there are."""
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    found = {"g++": ["g++", *GXX]} if shutil.which("g++") else {}
    return {**found, "nvcc": [nvcc, *NVCC, f"-arch={arch}"]} if nvcc else found


def seconds_of(command: list[str], sources: Path, example: str) -> float:
    """Of processors, of the compiler and all that it starts."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        file = sources / "examples" / f"{example}.cpp"
        words = [*command, f"-I{sources / 'include'}", "-c", str(file), "-o", str(Path(folder) / "example.o")]
        if subprocess.run(words).returncode:
            sys.exit(f"compile_times.py: failed: {' '.join(words)}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def compile_in_turn(name: str, command: list[str], example: str, trees: list[Path], runs: int) -> Row:
    """A row of the newer sources, which come last, and the ratio to the others where there are some."""
    seconds: list[list[float]] = [[] for _ in trees]
    for _ in range(runs):
        for tree, found in zip(trees, seconds, strict=True):
            found.append(seconds_of(command, tree, example))
    newest = seconds[-1]
    row: Row = {"benchmark": "compile_times", "example": example, "compiler": name, "runs": runs}
    row |= {"median_s": statistics.median(newest), "min_s": min(newest), "max_s": max(newest)}
    if len(trees) == 2:
        row |= {"beside": statistics.median(seconds[0])}
        row |= {"times_as_long": statistics.median(newest) / statistics.median(seconds[0])}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=Path, default=ROOT, help="folder with include/ and examples/")
    parser.add_argument("--beside", type=Path, help="the same of another commit")
    parser.add_argument("--examples", nargs="+", default=["histogram", "one_sided"])
    parser.add_argument("--arch", default="sm_90", help="architecture of the GPUs")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    args = parser.parse_args()
    trees = [args.beside, args.sources] if args.beside else [args.sources]
    rows: list[Row] = []
    for example in args.examples:
        for tree in trees:
            if not (tree / "examples" / f"{example}.cpp").is_file():
                parser.error(f"{tree} has no example {example}")
        for name, command in compilers(args.arch).items():
            rows.append(compile_in_turn(name, command, example, trees, args.runs))
            print({key: value for key, value in rows[-1].items() if key != "benchmark"}, flush=True)
    beside = {"beside": commit(args.beside)} if args.beside else {}
    words = ["compile_times.py", "--examples", *args.examples, "--runs", str(args.runs)]
    write_record(args.out, words, rows, args.sources, **beside)


if __name__ == "__main__":
    main()
