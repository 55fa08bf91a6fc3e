"""Builds the programs that measure plain CUDA, and NVSHMEM and NCCL as far as their wheels are installed.

Run it with the Python that has the wheels (nvidia-nvshmem-cu13, nvidia-nccl-cu13):

    python3 bench/peers/build.py --out build/peers
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PLAIN = ["plain_recursion", "plain_jacobi", "plain_ping_pong"]  # take nothing but CUDA
PROGRAMS = {
    "nvshmem": ["nvshmem_updates", "nvshmem_round_trip", "nvshmem_messages", "nvshmem_one_sided"],
    "nccl": [
        "nccl_updates",
        "nccl_all_reduce",
        "nccl_collectives",
        "nccl_training",
        "nccl_jacobi",
        "nccl_reduction_beside_compute",
        "nccl_messages",
        "nccl_window_messages",
    ],
}
# What a program is compiled with besides its own file; fused multiply-adds would not round as in apps/training.
SOURCES = {
    "nccl_training": [f"apps/training/{name}.cpp" for name in ("by_one", "data", "network_shape")],
    "nccl_jacobi": ["apps/jacobi/by_one.cpp"],
    "plain_jacobi": ["apps/jacobi/by_one.cpp"],
}
OPTIONS = {"nccl_training": ["--fmad=false", "-Xcompiler=-ffp-contract=off"]}
NEEDS = {"nccl_window_messages": "nccl_device.h"}  # headers that older versions lack


def wheel_folder(name: str) -> Path | None:
    """Folder of an installed wheel with include/ and lib/, below the namespace package `nvidia`."""
    spec = importlib.util.find_spec("nvidia")
    places = spec.submodule_search_locations if spec else None
    return next((Path(place) / name for place in places or [] if (Path(place) / name / "lib").is_dir()), None)


def link_options(name: str, lib: Path) -> list[str]:
    """Wheels have no unversioned .so, so libraries are named by their file. NVSHMEM's device half is linked as device
    code, its host half by the host linker only."""
    if name == "nccl":
        return ["-Xlinker", str(next(lib.glob("libnccl.so.*")))]
    host = ["-Xlinker", str(next(lib.glob("libnvshmem_host.so.*")))]
    return ["-rdc=true", f"-L{lib}", "-lnvshmem_device", *host, "-lcuda"]


def compile_program(program: str, nvcc: str, out: Path, arch: str, options: list[str]) -> None:
    command = [nvcc, f"-arch={arch}", "-std=c++20", "-O3", "--expt-relaxed-constexpr"]
    command += [f"-I{path}" for path in (ROOT / "include", ROOT / "apps", ROOT / "bench")]
    command += OPTIONS.get(program, [])
    command += [str(HERE / f"{program}.cu"), *(str(ROOT / source) for source in SOURCES.get(program, []))]
    command += ["-o", str(out / program), *options]
    if subprocess.run(command).returncode:
        sys.exit(f"build.py: failed: {' '.join(command)}")
    print(out / program)


def build(name: str, folder: Path, nvcc: str, out: Path, arch: str) -> None:
    lib = folder / "lib"
    for program in PROGRAMS[name]:
        header = NEEDS.get(program)
        if header and not (folder / "include" / header).is_file():
            print(f"build.py: {program}: left out, the wheel has no {header}", file=sys.stderr)
            continue
        options = [f"-I{folder / 'include'}", *link_options(name, lib), "-Xlinker", f"-rpath={lib}"]
        compile_program(program, nvcc, out, arch, options)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "peers", help="folder for the programs")
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc", help="the compiler")
    parser.add_argument("--arch", default="sm_90", help="architecture of the GPUs")
    args = parser.parse_args()
    if shutil.which(args.nvcc) is None:
        print(f"build.py: nothing to build: {args.nvcc} is not installed", file=sys.stderr)
        return 2
    args.out.mkdir(parents=True, exist_ok=True)
    for program in PLAIN:
        compile_program(program, args.nvcc, args.out, args.arch, [])
    found = {name: wheel_folder(name) for name in PROGRAMS}
    for name, folder in found.items():
        if folder is None:
            print(f"build.py: {name}: left out, wheel nvidia-{name}-cu13 is not installed", file=sys.stderr)
        else:
            build(name, folder, args.nvcc, args.out, args.arch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
