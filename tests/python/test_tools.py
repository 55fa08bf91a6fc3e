"""Checks of the sources find what they are for."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

CHECK = ROOT / "tools" / "check_layers.py"


def check(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("include/laneway/base/status.hpp", '#include "laneway/simt/wait.hpp"'),
        ("src/graph/read.cpp", '#include "laneway/queue/id_ring.hpp"'),
        ("include/laneway/task/pool.hpp", '#include "laneway/flow/worklist.hpp"'),
        ("include/laneway/flow/worklist.hpp", '#include "laneway/task/task_pool.hpp"'),
        ("include/laneway/comm/mailbox.hpp", '#include "laneway/transport/peer/ring.hpp"'),
        ("include/laneway/simt/wait.hpp", '#include "laneway/runtime.hpp"'),
        ("include/laneway/simt/wait.hpp", '#include "../comm/mailbox.hpp"'),
        ("include/laneway/simt/cuda/check.hpp", '#include "../../queue/id_ring.hpp"'),
        ("include/laneway/simt/wait.hpp", '#include "../runtime.hpp"'),
        ("src/graph/read.cpp", '#include "./../comm/ring.hpp"'),
        ("src/queue/ring.cpp", '#include "../../include/laneway/flow/balance.hpp"'),
        ("include/laneway/comm/mailbox.hpp", '#include "../transport/peer/ring.hpp"'),
        ("include/laneway/comm/mailbox.hpp", "auto i = threadIdx.x;"),
        ("src/queue/ring.cpp", "#include <cuda_runtime_api.h>"),
        ("apps/sssp/search.hpp", "#include <cuda/atomic>"),
        ("include/laneway/comm/one_sided.hpp", "T* word = address(ctx_, at, pe);"),
        ("include/laneway/run/triggers.hpp", "auto* there = laneway::at(ctx, first, op.pe());"),
        ("include/laneway/task/steal.hpp", "auto n = address(ctx, tails[ring(ctx, to)], from)->value;"),
        ("include/laneway/flow/worklist.hpp", "keys.at(ctx, pe)[0] = 1;"),
        ("include/laneway/comm/moves.hpp", "auto* base = ctx.environment().segments[pe];"),
    ],
)
def test_breaches(tmp_path: Path, file: str, line: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(f"#pragma once\n{line}\n")
    done = check(tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith(f"{file}:2: ")


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("include/laneway/flow/worklist.hpp", '#include "laneway/comm/mailbox.hpp"'),
        ("include/laneway/comm/mailbox.hpp", '#include "laneway/transport/peer_memory.hpp"'),
        ("include/laneway/comm/mailbox.hpp", '#include "../queue/id_ring.hpp"'),
        ("src/simt/cuda/gpu.cpp", '#include "../device.hpp"'),
        ("include/laneway/comm/mailbox.hpp", "// not threadIdx"),
        ("src/simt/cuda/gpu.cpp", "#include <cuda_runtime_api.h>"),
        ("apps/sssp/kernel.cu", "auto i = threadIdx.x;"),
        ("include/laneway/comm/one_sided.hpp", "auto word = remote_address(ctx_, at, pe);"),
        ("include/laneway/task/steal.hpp", "auto n = address(ctx, tails[ring(ctx, to, from)])->value;"),
        ("include/laneway/comm/queue.hpp", "auto number = asked.at(ctx, first, place);"),
        ("include/laneway/memory/heap.hpp", "auto* there = address(ctx, first, pe);"),
        ("apps/sssp/search.hpp", "keys.at(ctx, pe)[0] = 1;"),
    ],
)
def test_no_breach(tmp_path: Path, file: str, line: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(f"#pragma once\n{line}\n")
    assert check(tmp_path).returncode == 0


def test_the_picture_and_the_table_of_layers_name_those_that_are_checked() -> None:
    layers = set(re.findall(r'^    "(\w+)": ', CHECK.read_text(), re.MULTILINE))
    shown = re.findall(r">(\w+): ", (ROOT / "docs" / "images" / "layers.svg").read_text())
    assert sorted(shown) == sorted(layers)
    page = (ROOT / "ARCHITECTURE.md").read_text()
    table = dict(re.findall(r"^\| `(\w+)` \| .* \| `?(.+?)`?(?: only)? \|$", page, re.MULTILINE))
    assert layers <= set(table)
    assert table["flow"] == table["task"] == "run"


def test_this_project() -> None:
    done = check(ROOT)
    assert done.returncode == 0, done.stdout


def test_types_of_all_packages_are_checked() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    (wheel,) = re.findall(r"^wheel\.packages = \[(.*)\]", text, re.MULTILINE)
    (checked,) = re.findall(r"^packages = \[(.*)\]", text, re.MULTILINE)
    packages = re.findall(r'"python/(\w+)"', wheel)
    assert re.findall(r'"(\w+)"', checked) == packages
    for package in packages:
        assert (ROOT / "python" / package / "py.typed").exists(), package


@pytest.mark.parametrize(
    ("gpus", "own", "locks"),
    [
        ("0,1,2,3", "0123012", ["gpu_0", "gpu_1", "gpu_2", "gpu_3"]),
        ("4,5", "4545454", ["gpu_4", "gpu_5"]),
        ("7", "7777777", None),
        ("", "-------", None),
    ],
)
def test_suites_have_a_gpu_to_themselves(tmp_path: Path, gpus: str, own: str, locks: list[str] | None) -> None:
    """ctest takes the GPUs from the environment. What runs on all of them runs apart, where there are several."""
    suites = tmp_path / "suites"
    suites.write_text("#!/bin/sh\nprintf 's1.\\n  one\\ns2.\\n  one\\ns3.\\ns4.\\ns5.\\ns6.\\ns7.\\n  one\\n'\n")
    suites.chmod(0o755)
    words = {"executable": suites, "prefix": "cuda.", "without": "s9.*", "properties": "LABELS;cuda"}
    words |= {"on_gpus": "TRUE", "on_all_gpus": "*/cuda"}
    lines = [f'set(suites_{name} "{value}")\n' for name, value in words.items()]
    (tmp_path / "CTestTestfile.cmake").write_text("".join(lines) + f'include("{ROOT}/tests/suites.cmake")\n')
    cache = ROOT / "build" / "tree" / "CMakeCache.txt"
    if not cache.exists():
        pytest.skip(f"{cache.parent} was not made by `make test`")
    (ctest,) = re.findall(r"^CMAKE_CTEST_COMMAND:\w+=(.+)$", cache.read_text(), re.MULTILINE)
    command = [ctest, "--show-only=json-v1"]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": gpus}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, env=environment)
    tests = {}
    for test in json.loads(done.stdout)["tests"]:
        known = {each["name"]: each["value"] for each in test["properties"]}
        assert known["LABELS"] == ["cuda"]
        tests[test["name"]] = (test["command"][1], known.get("ENVIRONMENT"), known.get("RESOURCE_LOCK"))
    assert tests.pop("cuda.all_gpus", None) == (locks and ("--gtest_filter=*/cuda:-s9.*", None, locks))
    without = "s9.*:*/cuda" if locks else "s9.*"
    for number, gpu in enumerate(own, 1):
        alone = (None, None) if gpu == "-" else ([f"CUDA_VISIBLE_DEVICES={gpu}"], [f"gpu_{gpu}"])
        assert tests.pop(f"cuda.s{number}") == (f"--gtest_filter=s{number}.*:-{without}", *alone)
    assert not tests


# Some lanes call another function, and wait for the others behind that.
CALLS_APART = ("BSSY B6, `(.L_x_1)", "@P0 BRA `(.L_x_2)", "CALL.ABS.NOINC `(leaf)", "BSYNC B6", ".L_x_1:")


def listing(*behind_the_call: str, callee: tuple[str, ...]) -> str:
    """What nvdisasm prints for a function that calls another one."""
    caller = ["CALL.ABS.NOINC `(callee)", *behind_the_call, "RET.ABS.NODEC R20 0x0"]
    lines: list[str] = []
    for name, instructions in (("caller", caller), ("callee", callee), ("leaf", ()), ("inner", CALLS_APART)):
        lines.append(f".text.{name}:")
        lines += [i if i.endswith(":") else f"        /*{at:04x}*/    {i} ;" for at, i in enumerate(instructions)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("behind", "callee", "misses"),
    [
        (("VOTE.ANY R0, PT, P6",), CALLS_APART, True),
        (("R2UR UR4, R24", "SHFL.IDX PT, R4, R5, RZ, 0x1f"), CALLS_APART, True),
        (("BRA.DIV UR4, `(.L_x_9)", "VOTE.ANY R0, PT, P6"), CALLS_APART, False),
        (("BSYNC B3", "VOTE.ANY R0, PT, P6"), CALLS_APART, False),
        (("CALL.ABS.NOINC `(leaf)", "VOTE.ANY R0, PT, P6"), CALLS_APART, True),
        (("@P0 BRA `(.L_x_9)", "VOTE.ANY R0, PT, P6", ".L_x_9:", "WARPSYNC R1"), CALLS_APART, True),
        (("BRA `(.L_x_9)", "WARPSYNC R1", ".L_x_9:", "VOTE.ANY R0, PT, P6"), CALLS_APART, True),
        (("BRA `(.L_x_9)", "VOTE.ANY R0, PT, P6", ".L_x_9:", "WARPSYNC R1"), CALLS_APART, False),
        ((".L_x_9:", "@!P1 BRA `(.L_x_9)", "@P0 EXIT", "VOTE.ANY R0, PT, P6"), CALLS_APART, True),
        (("VOTE.ANY R0, PT, P6",), ("CALL.ABS.NOINC `(inner)",), True),
        (("VOTE.ANY R0, PT, P6",), ("CALL.ABS.NOINC `(leaf)", "BSSY B0, `(.L_x_1)", ".L_x_1:"), False),
        (("VOTE.ANY R0, PT, P6",), ("BSSY B0, `(.L_x_1)", "@P0 BRA `(.L_x_1)", ".L_x_1:"), False),
    ],
)
def test_collectives_that_miss_lanes_are_found(
    tmp_path: Path, behind: tuple[str, ...], callee: tuple[str, ...], misses: bool
) -> None:
    file = tmp_path / "code.sass"
    file.write_text(listing(*behind, callee=callee))
    tool = ROOT / "tools" / "check_convergence.py"
    found = subprocess.run([sys.executable, tool, file], capture_output=True, text=True, timeout=60)
    assert found.returncode == (1 if misses else 0), found.stderr
    assert found.stdout.startswith("caller -> callee: ") == misses
