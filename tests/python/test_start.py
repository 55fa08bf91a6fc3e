"""The first moments of the command, before the package is loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest
from programs import run_program

LOADED = """
import sys
before = set(sys.modules)
from laneway.cli import end_on_signals
print(*sorted(name for name in set(sys.modules) - before if not name.startswith("laneway")))
"""


def python(program: str) -> subprocess.CompletedProcess[str]:
    return run_program([sys.executable, "-c", program])


def test_signals_are_caught_before_anything_else_is_loaded() -> None:
    done = python(LOADED)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


INTERRUPTED = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
sys.argv = ["laneway", "--version"]
{before}
{start}
"""


@pytest.mark.parametrize(
    ("before", "code", "told"),
    [("", 130, "laneway: interrupted\n"), ("signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])", 0, "")],
    ids=["", "blocked by the caller"],
)
def test_ctrl_c_before_the_package_is_loaded(before: str, code: int, told: str) -> None:
    start = "from laneway_command import main; main()"
    done = python(INTERRUPTED.format(module="laneway", before=before, start=start))
    assert (done.returncode, done.stderr) == (code, told)


def test_ctrl_c_while_the_package_is_run() -> None:
    start = "import runpy; runpy.run_module('laneway', run_name='__main__')"
    done = python(INTERRUPTED.format(module="laneway.cli", before="", start=start))
    assert (done.returncode, done.stderr) == (130, "laneway: interrupted\n")


STARTS = """
import sys
from importlib.abc import MetaPathFinder

class Short(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "numpy":
            {raises}

sys.meta_path.insert(0, Short())
sys.argv = ["laneway", *{words}]
from laneway.cli import main
main()
"""


@pytest.mark.parametrize(
    ("raises", "told"),
    [
        ("raise MemoryError", "not enough memory"),
        ("raise ImportError('several\\nlines') from MemoryError()", "not enough memory"),
        ("raise ImportError('libx.so: failed to map segment\\nfrom shared object')", "libx.so: failed to map"),
    ],
)
def test_too_little_memory_to_load_the_package(raises: str, told: str) -> None:
    done = python(STARTS.format(raises=raises.replace("\n", "\\n"), words=["bfs", "graph", "--source", "1"]))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    assert done.stderr.startswith(f"laneway: cannot start: {told}")


def test_too_little_memory_for_what_a_command_loads_later() -> None:
    done = python(STARTS.format(raises="raise ImportError('libx.so: failed to map')", words=["devices"]))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "laneway: cannot start: libx.so: failed to map\n"
