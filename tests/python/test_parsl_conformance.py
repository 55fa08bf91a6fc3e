"""Parsl's own tests of executors, which its wheel carries, with a `LanewayExecutor` in place of its own.

Left out are those that need a network or other executors' programs. They are run unprivileged, as some expect that not
every file can be written.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

parsl = pytest.importorskip("parsl")
SUITE = Path(parsl.__file__).parent / "tests"
CONFIG = Path(__file__).with_name("parsl_conformance.py")
if find_spec("parsl.tests.conftest") is None:
    pytest.skip("Parsl's wheel does not carry its tests", allow_module_level=True)

PARTS = (
    "test_python_apps",
    "test_bash_apps",
    "test_error_handling",
    "test_regression",
    "test_threads",
    "test_checkpointing",
    "test_staging",
    "test_docs",
    "test_serialization",
    "test_callables.py",
    "test_execute_task.py",
)
LEFT_OUT = (
    "test_resource",  # asks which of Parsl's executors this is
    "test_apptimeout",  # a race of 0.05 s of sleep and a new shell against 0.01 s, and against 0.2 s
    "test_timeout",  # a race of a call against 0.005 s; it asks no executor
    "test_docs_1",  # this and the next two: from a server
    "test_staging_ftp",
    "test_staging_https",
)
NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that every user reaches."""
    made = Path(tempfile.mkdtemp(prefix="laneway-parsl-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


def unprivileged(folder: Path, environment: dict[str, str]) -> list[str]:
    """What stands before a command that root runs without the right to write everywhere: as nobody, who may still read
    what root has installed. Skips where that does not work."""
    if os.geteuid() != 0:
        return []
    os.chown(folder, NOBODY, NOBODY)
    rights = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    words = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *rights]
    tried = [*words, sys.executable, "-c", "import laneway.parsl"]
    if not shutil.which("setpriv") or subprocess.run(tried, cwd=folder, env=environment, timeout=60).returncode != 0:
        pytest.skip("Parsl's tests are for users without root's rights, which setpriv cannot give up here")
    return words


def test_the_tests_of_parsl(folder: Path) -> None:
    paths = [str(CONFIG.parent), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "HOME": str(folder)}
    names = " or ".join(LEFT_OUT)
    words = unprivileged(folder, environment)
    words += [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(folder), "-p", "parsl_conformance"]
    words += ["-p", "no:cacheprovider", "-q", "--tb=short", "--show-capture=no", "-k", f"not ({names})"]
    words += ["--config", str(CONFIG), *(str(SUITE / part) for part in PARTS)]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    passed = re.search(r"^(\d+) passed", done.stdout, re.MULTILINE)
    assert passed is not None and int(passed.group(1)) > 100, done.stdout[-2000:]
