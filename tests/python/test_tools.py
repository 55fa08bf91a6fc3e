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
        ("include/laneway/comm/mailbox.hpp", '#include "laneway/transport/transport.hpp"'),
        ("include/laneway/comm/mailbox.hpp", '#include "../queue/id_ring.hpp"'),
        ("src/simt/cuda/gpu.cpp", '#include "../device.hpp"'),
        ("include/laneway/comm/mailbox.hpp", "// not threadIdx"),
        ("src/simt/cuda/gpu.cpp", "#include <cuda_runtime_api.h>"),
        ("apps/sssp/kernel.cu", "auto i = threadIdx.x;"),
    ],
)
def test_no_breach(tmp_path: Path, file: str, line: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(f"#pragma once\n{line}\n")
    assert check(tmp_path).returncode == 0


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
    ("gpus", "at_once", "firsts"),
    [
        ("0,1,2,3", 4, "0123012"),
        ("4,5", 4, "4455445"),
        ("0,1,2,3", 2, "0202020"),
        ("7", 2, "-------"),
        ("", 2, "-------"),
    ],
)
def test_suites_that_run_at_once_begin_with_different_gpus(
    tmp_path: Path, gpus: str, at_once: int, firsts: str
) -> None:
    """ctest takes the GPUs from the environment, and tells each suite an order of them."""
    suites = tmp_path / "suites"
    suites.write_text("#!/bin/sh\nprintf 's1.\\n  one\\ns2.\\n  one\\ns3.\\ns4.\\ns5.\\ns6.\\ns7.\\n  one\\n'\n")
    suites.chmod(0o755)
    words = {"executable": suites, "prefix": "cuda.", "without": "", "at_once": at_once, "properties": "LABELS;cuda"}
    lines = [f'set(suites_{name} "{value}")\n' for name, value in words.items()]
    (tmp_path / "CTestTestfile.cmake").write_text("".join(lines) + f'include("{ROOT}/tests/suites.cmake")\n')
    command = [str(Path(sys.executable).parent / "ctest"), "--show-only=json-v1"]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": gpus}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, env=environment)
    orders = []
    for test in json.loads(done.stdout)["tests"]:
        known = {each["name"]: each["value"] for each in test["properties"]}
        assert known["LABELS"] == ["cuda"]
        (value,) = known.get("ENVIRONMENT", ["CUDA_VISIBLE_DEVICES=-"])
        orders.append(value.removeprefix("CUDA_VISIBLE_DEVICES="))
    assert "".join(order[0] for order in orders) == firsts
    assert all(sorted(order) == sorted(gpus) for order in orders if order != "-")
