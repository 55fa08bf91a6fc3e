"""Sets up `.venv` and builds into `build/`, on a machine with nothing but Python, g++ and make.

Standard library only. Libraries that the system lacks come from Debian's archive, unpacked under build/deps without
root. One CMake build tree serves the Python package and the C++ tests, so nothing is compiled twice.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from machine import gpu_answers, jobs
from steps import run_with_steps

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
BUILD = ROOT / "build"
TREE = BUILD / "tree"
DEPS = BUILD / "deps"
ARCHIVE = DEPS / "archive"
PYTHON = VENV / "bin" / "python"
BUILD_TOOLS = ["pip>=23.1", "cmake>=3.25,<5", "ninja>=1.11", "nanobind>=2.4,<4", "scikit-build-core>=0.10,<2"]


class SetupError(Exception):
    """Something this machine lacks and the script cannot get."""


def run(command: Iterable[str | Path], what: str, **environment: str) -> None:
    """Run a command; its output is shown only if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        raise SetupError(f"{what} failed: {' '.join(words)}\n{done.stdout}")


def say(text: str) -> None:
    print(f"-- {text}", flush=True)


def make_venv(offline: bool) -> None:
    """The virtual environment, with pip also where Debian's python3-venv package is missing."""
    if not PYTHON.exists():
        say("virtual environment in .venv")
        try:
            from ensurepip import bootstrap  # noqa: F401 - Debian has it in a package of its own
        except ImportError:
            venv.create(VENV, with_pip=False, symlinks=True)
            if not offline:
                fetch_debian(["python3-pip-whl"])
                wheel = next((DEPS / "usr/share/python-wheels").glob("pip-*.whl"))
                run([PYTHON, wheel / "pip", "install", "--quiet", "pip"], "installing pip")
        else:
            venv.create(VENV, with_pip=True, symlinks=True)
    if offline:
        site = Path(
            subprocess.check_output(
                [PYTHON, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
            ).strip()
        )
        (site / "outer.pth").write_text(sysconfig.get_path("purelib") + "\n")


def apt_get(packages: list[str]) -> list[str]:
    """The client of Debian's archive, with lists of its own under build/deps, for these packages."""
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        raise SetupError(f"apt-get was not found; install these with your package manager: {' '.join(packages)}")
    lists = DEPS / "lists"
    for folder in (ARCHIVE / "partial", lists / "partial"):
        folder.mkdir(parents=True, exist_ok=True)
    apt = ["apt-get", "-qq", f"-oDir::State::Lists={lists}", f"-oDir::Cache={ARCHIVE}", "-oAPT::Sandbox::User=root"]
    if not any(lists.glob("*Packages*")):
        run([*apt, "update"], "reading Debian's package lists")
    return apt


def fetch_debian(packages: list[str]) -> None:
    """Download Debian packages and unpack them under build/deps; needs no root and changes nothing else."""
    say(f"{', '.join(packages)} from Debian's archive into build/deps")
    command = "cd {} && {} download {}".format(ARCHIVE, " ".join(apt_get(packages)), " ".join(packages))
    run(["sh", "-c", command], "downloading Debian packages")
    for package in ARCHIVE.glob("*.deb"):
        run(["dpkg", "-x", package, DEPS], "unpacking a Debian package")
        package.unlink()


def mend_links() -> None:
    """Point libz.so and the like at this system's libraries: a -dev package's link is to its own version in /lib."""
    folders = [Path("/lib"), Path("/usr/lib"), *Path("/lib").glob("*-linux-gnu"), *Path("/usr/lib").glob("*-linux-gnu")]
    for link in DEPS.glob("usr/lib/*/lib*.so"):
        if link.exists() or not link.is_symlink():
            continue
        found = [library for folder in folders for library in folder.glob(link.name + ".*")]
        if not found:
            raise SetupError(f"the library {link.stem} was not found on this system")
        link.unlink()
        link.symlink_to(found[0])


def finds(package: str) -> bool:
    """Whether the compiler finds what a Debian package would bring."""
    probe = {
        "libgtest-dev": "#include <gtest/gtest.h>",
        "zlib1g-dev": "#include <zlib.h>",
        "liblzma-dev": "#include <lzma.h>",
    }[package]
    command = ["g++", "-std=c++20", "-E", "-x", "c++", "-", "-o", os.devnull]
    if (DEPS / "usr/include").is_dir():
        command.append(f"-isystem{DEPS / 'usr/include'}")
    return subprocess.run(command, input=probe, text=True, stderr=subprocess.DEVNULL).returncode == 0


DEBIAN_LIBRARIES = ("zlib1g-dev", "liblzma-dev", "libgtest-dev")


def system_libraries(tests: bool, offline: bool) -> None:
    """What the build needs besides Python packages: compression libraries, Python's headers; tests also GoogleTest."""
    if not shutil.which("g++"):
        raise SetupError("g++ was not found; install it (Debian: apt-get install g++)")
    wanted = [name for name in DEBIAN_LIBRARIES if (tests or name != "libgtest-dev") and not finds(name)]
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists() and not own_python_headers().exists():
        wanted.append(f"libpython{sys.version_info.major}.{sys.version_info.minor}-dev")
    if wanted and offline:
        raise SetupError(f"missing, and nothing may be downloaded: {', '.join(wanted)}; unpack them under build/deps")
    if wanted:
        fetch_debian(wanted)
    mend_links()


PACKAGES = ("dependencies",)
WHEEL_PACKAGES = (*PACKAGES, "wheel")
TEST_PACKAGES = (*WHEEL_PACKAGES, "metis", "test", "lint")
DOCS_PACKAGES = (*PACKAGES, "docs")


def own_python_headers() -> Path:
    return DEPS / f"usr/include/python{sys.version_info.major}.{sys.version_info.minor}"


def fetch_doxygen() -> None:
    """Doxygen with the libraries that it needs and the system lacks, under build/deps, where it is nowhere else."""
    if shutil.which("doxygen") or (DEPS / "usr/bin/doxygen").exists():
        return
    if not shutil.which("apt-get"):
        say("doxygen was not found: the reference of C++ will link to the headers only")
        return
    command = [*apt_get(["doxygen"]), "-s", "-oDebug::NoLocking=1", "--no-install-recommends", "install", "doxygen"]
    plan = subprocess.run(command, capture_output=True, text=True)
    packages = re.findall(r"^Inst (\S+)", plan.stdout, re.MULTILINE)
    if not packages:
        raise SetupError(f"finding what Doxygen needs failed: {' '.join(command)}\n{plan.stderr}")
    fetch_debian(packages)


def fetch_tests_of_python() -> None:
    """CPython's own tests of executors, which ours must pass too, where this Python came without its tests."""
    name = f"libpython{sys.version_info.major}.{sys.version_info.minor}-testsuite"
    tests = f"usr/lib/python{sys.version_info.major}.{sys.version_info.minor}/test"
    with contextlib.suppress(ModuleNotFoundError):  # of test itself
        if importlib.util.find_spec("test.test_concurrent_futures") is not None:
            return
    if (DEPS / tests).is_dir() or not shutil.which("apt-get"):
        return
    try:
        fetch_debian([name])
    except SetupError:
        say(f"{name} is not in Debian's archive: CPython's tests of executors are left out")


def python_packages(groups: tuple[str, ...]) -> None:
    """The packages that these lists of pyproject.toml ask for; skipped while it is unchanged."""
    text = (ROOT / "pyproject.toml").read_bytes() + " ".join(groups).encode()
    stamp = VENV / f"packages-{'-'.join(groups)}"
    digest = hashlib.sha256(text).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    say("Python packages")
    # Not compiled to byte code: Python does that for the modules that are used.
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    run([*pip, *BUILD_TOOLS, *declared(groups)], "installing Python packages")
    stamp.write_text(digest)


def declared(wanted: tuple[str, ...]) -> list[str]:
    """Requirements in pyproject.toml, which Python 3.9 and 3.10 have no module to read."""
    requirements: list[str] = []
    name = ""
    for line in (ROOT / "pyproject.toml").read_text().splitlines():
        if " = [" in line:
            name = line.split(" = [")[0]
        if name in wanted:
            requirements += (
                line.split("[", 1)[-1].rstrip("]").split('"')[1::2] if " = [" in line else line.split('"')[1::2]
            )
        if line.rstrip().endswith("]"):
            name = ""
    return requirements


@dataclass(frozen=True)
class Wishes:
    """What the build is asked for."""

    tests: bool
    """Also the tests, the examples and the programs in five styles."""
    cuda: str
    """"1" and "0": with and without GPU code. Else with it where a driver answers."""
    jobs: int
    """Compilers at once."""
    whole: bool = False
    """Also the programs for checked devices, which a demo does without."""


def gpu_code(wishes: Wishes) -> str:
    """LANEWAY_CUDA for this machine: no demo waits for GPU code that nothing here can run; tests compile it all."""
    if wishes.cuda:
        return "ON" if wishes.cuda == "1" else "OFF"
    if gpu_answers():
        return "AUTO"
    return "CHECK" if wishes.tests else "OFF"


def has(option: str) -> bool:
    """Whether the build tree was made with this already: a demo leaves it so, and nothing is compiled twice."""
    cache = TREE / "CMakeCache.txt"
    return cache.exists() and re.search(rf"^{option}:\w+=ON$", cache.read_text(), re.MULTILINE) is not None


def definitions(wishes: Wishes) -> dict[str, str | Path]:
    """CMake's variables."""
    wanted = "ON" if wishes.tests or has("LANEWAY_TESTS") else "OFF"
    whole = "ON" if wishes.whole or wishes.tests or has("LANEWAY_CHECKED_PROGRAMS") else "OFF"
    found: dict[str, str | Path] = {"LANEWAY_DEPS": DEPS / "usr", "LANEWAY_CUDA": gpu_code(wishes)}
    found.update(
        LANEWAY_UNITY="ON",
        # A third less of the compiler's time than at -O2, for some 5 % more of a search's over New York's roads.
        LANEWAY_OPTIMIZATION="-O1",
        LANEWAY_CHECKED_PROGRAMS=whole,
        LANEWAY_TESTS=wanted,
        LANEWAY_STYLES=wanted,
        LANEWAY_WERROR="ON" if os.environ.get("CI") else "OFF",
    )
    if own_python_headers().exists():
        found["Python_INCLUDE_DIR"] = own_python_headers()
    if shutil.which("ccache"):
        found.update({f"CMAKE_{language}_COMPILER_LAUNCHER": "ccache" for language in ("CXX", "CUDA")})
    return found


def build(wishes: Wishes) -> None:
    """Compile and install the package into .venv; with the tests where they are wanted."""
    defined = definitions(wishes)
    kind = {"OFF": "CPU devices", "CHECK": "CPU devices, GPU code compiled only"}.get(str(defined["LANEWAY_CUDA"]))
    say(f"build into build/{' with all tests' if wishes.tests else ''}: {kind or 'GPUs and CPU devices'}")
    environment = {**os.environ, "PATH": f"{VENV / 'bin'}:{os.environ['PATH']}", "CMAKE_GENERATOR": "Ninja"}
    environment["CMAKE_BUILD_PARALLEL_LEVEL"] = str(wishes.jobs)
    # A first build pays little for ccache where it takes dependencies from the compiler instead of preprocessing.
    environment.update(CCACHE_DEPEND="1", CCACHE_SLOPPINESS="pch_defines,time_macros")
    if own_python_headers().exists():
        environment["CPLUS_INCLUDE_PATH"] = str(DEPS / "usr/include")  # pyconfig.h includes a folder beside its own
    command = [PYTHON, "-m", "pip", "install", "-v", "--disable-pip-version-check", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", f"-Cbuild-dir={TREE}"]
    command += [] if wishes.tests else ["-Cbuild.targets=python_package"]
    command += [f"-Ccmake.define.{name}={value}" for name, value in defined.items()]
    status, written = run_with_steps([*command, ROOT], ROOT, environment)
    if status:
        (BUILD / "build.log").write_text(written)
        raise SetupError(f"the build failed; build/build.log has all of its output\n{what_failed(written)}")


def what_failed(output: str) -> str:
    """The part of a build's output that tells why it failed: from the first failed step on, at most 100 lines."""
    lines = output.splitlines()
    first = next((i for i, line in enumerate(lines) if "FAILED:" in line or "CMake Error" in line), len(lines) - 30)
    return "\n".join(lines[max(first, 0) :][:100])


def wishes_of(tests: bool, cuda: str, wanted_jobs: str, whole: bool = False) -> Wishes:
    """The variables CUDA and JOBS of the Makefile, checked."""
    if cuda not in ("", "0", "1"):
        raise SetupError(f"CUDA must be 0 or 1, not {cuda}")
    try:
        return Wishes(tests, cuda, jobs(wanted_jobs), whole)
    except ValueError as error:
        raise SetupError(str(error)) from None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", action="store_true", help="also build the tests and install what they use")
    parser.add_argument("--whole", action="store_true", help="also build and install what a wheel needs")
    parser.add_argument("--offline", action="store_true", help="download nothing; use this Python's packages")
    parser.add_argument("--docs", action="store_true", help="only install what the documentation site is built with")
    parser.add_argument("--deps", action="store_true", help="only fetch the libraries that another machine may lack")
    arguments = parser.parse_args()
    try:
        cuda, wanted_jobs = os.environ.get("CUDA", ""), os.environ.get("JOBS", "")
        wishes = wishes_of(arguments.tests, cuda, wanted_jobs, arguments.whole)
        if arguments.deps:
            fetch_debian(list(DEBIAN_LIBRARIES))
            return
        make_venv(arguments.offline)
        # The site is one of the checks of continuous integration.
        if not arguments.offline and (arguments.docs or (arguments.tests and os.environ.get("CI"))):
            python_packages(DOCS_PACKAGES)
            fetch_doxygen()
        if arguments.docs:
            return
        system_libraries(arguments.tests, arguments.offline)
        if not arguments.offline:
            whole = WHEEL_PACKAGES if arguments.whole else PACKAGES
            python_packages(TEST_PACKAGES if arguments.tests else whole)
            if arguments.tests:
                fetch_tests_of_python()
        build(wishes)
    except SetupError as error:
        sys.exit(f"setup: {error}")


if __name__ == "__main__":
    main()
