"""Checks of the sources find what they are for."""

from __future__ import annotations

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
