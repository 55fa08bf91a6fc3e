"""NVIDIA's compiler and linker for GPUs, NVRTC and nvJitLink. They are loaded where the first body for a GPU is
compiled, and nothing else needs them."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from ctypes.util import find_library
from functools import cache
from pathlib import Path
from typing import Callable, NamedTuple

from laneway import _core
from laneway.errors import TaskBodyError
from laneway.standard_headers import HEADERS

Function = Callable[..., int]
MAX_REGISTERS = 64
"""Of a thread in the program of a pool: a multiprocessor has 65,536 for its 1,024 threads."""
_PTX = 2  # nvJitLink's number for this kind of input


class CudaCompilerError(Exception):
    """NVRTC or nvJitLink does not take what it was given; the message is its own."""

    def __init__(self, tool: str, words: str) -> None:
        super().__init__(f"{tool} says:\n{words}")
        self.words = words


class Toolkit(NamedTuple):
    """Both libraries, and the folders of CUDA's C++ library."""

    nvrtc: ctypes.CDLL
    linker: ctypes.CDLL
    folders: tuple[str, ...]

    @property
    def version(self) -> str:
        """Of both."""
        return f"{_version(self.nvrtc.nvrtcVersion)} {_version(self.linker.nvJitLinkVersion)}"

    def compile(self, text: str, label: str, architecture: int, flags: Sequence[str] = ()) -> bytes:
        """C++17 as PTX whose functions can be linked. Functions without a mark are those of the GPU."""
        options = compile_options(architecture, self.folders, flags)
        program = ctypes.c_void_p()
        headers = (_strings(HEADERS.values()), _strings(HEADERS))
        source = (text.encode(), label.encode(), len(HEADERS))
        self._check(self.nvrtc.nvrtcCreateProgram(ctypes.byref(program), *source, *headers), program)
        try:
            self._check(self.nvrtc.nvrtcCompileProgram(program, len(options), _strings(options)), program)
            return _content(self.nvrtc.nvrtcGetPTXSize, self.nvrtc.nvrtcGetPTX, program)
        finally:
            self.nvrtc.nvrtcDestroyProgram(ctypes.byref(program))

    def link(self, inputs: Mapping[str, bytes], architecture: int) -> tuple[bytes, str]:
        """Machine code for GPUs of one architecture, of PTX by what messages call it, and what the linker says of
        it."""
        options = link_options(architecture)
        linking = ctypes.c_void_p()
        code = self.linker.nvJitLinkCreate(ctypes.byref(linking), len(options), _strings(options))
        if code != 0:
            raise CudaCompilerError("nvJitLink", f"error {code} for {' '.join(options)}")
        try:
            for name, text in inputs.items():
                given = (text, ctypes.c_size_t(len(text) + 1), name.encode())
                self._check_link(self.linker.nvJitLinkAddData(linking, _PTX, *given), linking)
            self._check_link(self.linker.nvJitLinkComplete(linking), linking)
            made = self.linker.nvJitLinkGetLinkedCubinSize, self.linker.nvJitLinkGetLinkedCubin
            words = _log(self.linker.nvJitLinkGetInfoLogSize, self.linker.nvJitLinkGetInfoLog, linking)
            return _content(*made, linking), words
        finally:
            self.linker.nvJitLinkDestroy(ctypes.byref(linking))

    def _check(self, code: int, program: ctypes.c_void_p) -> None:
        if code == 0:
            return
        log = _log(self.nvrtc.nvrtcGetProgramLogSize, self.nvrtc.nvrtcGetProgramLog, program)
        self.nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise CudaCompilerError("NVRTC", log or self.nvrtc.nvrtcGetErrorString(code).decode())

    def _check_link(self, code: int, linking: ctypes.c_void_p) -> None:
        log = _log(self.linker.nvJitLinkGetErrorLogSize, self.linker.nvJitLinkGetErrorLog, linking)
        if code != 0 or log:  # after an error of the same thread it may say 0 whatever comes
            raise CudaCompilerError("nvJitLink", demangled(log) or f"error {code}")


def compile_options(architecture: int, folders: Sequence[str], flags: Sequence[str] = ()) -> list[str]:
    options = [f"-arch=compute_{architecture}", "-std=c++17", "-rdc=true", "-default-device"]
    return [*options, *(f"-I{folder}" for folder in folders), *flags]


def link_options(architecture: int) -> list[str]:
    return [f"-arch=sm_{architecture}", f"-maxrregcount={MAX_REGISTERS}", "-O3"]


@cache
def toolkit() -> Toolkit:
    """TaskBodyError where a part of it is not there."""
    lacks, packages = "NVRTC and nvJitLink of one CUDA version", "nvidia-cuda-nvrtc nvidia-nvjitlink nvidia-cuda-cccl"
    refused = ""
    for nvrtc, linker, headers in _choices():
        if headers is None:
            lacks, packages = "the headers of CUDA's C++ library, cuda/std", "nvidia-cuda-cccl"
            continue
        try:
            return Toolkit(ctypes.CDLL(nvrtc), ctypes.CDLL(linker), (_standard_library(headers), f"{headers}/include"))
        except OSError as error:
            refused = refused or str(error)
    if refused:
        raise TaskBodyError(f"a TaskBody on GPUs needs NVRTC and nvJitLink: {refused}")
    raise TaskBodyError(
        f"a TaskBody on GPUs needs {lacks}, which are not there: set CUDA_HOME, or pip install {packages}"
    )


def _choices() -> Iterator[tuple[str, str, Path | None]]:
    """Both libraries, of one version, and the folder of the headers that came with them. Older ones than those of the
    build do not know its PTX."""
    every = installations()
    for folders in every:
        nvrtc, linker = libraries("nvrtc", folders), libraries("nvJitLink", folders)
        for major in sorted(nvrtc.keys() & linker.keys(), reverse=True):
            if major >= _major_of_build():
                own = [nvrtc[major].parent.parent, *folders]
                yield str(nvrtc[major]), str(linker[major]), next(filter(_standard_library, own), None)
    found = [find_library(name) for name in ("nvrtc", "nvJitLink")]
    if found[0] and found[1] and _major_of_build() <= _major(found[0]) == _major(found[1]):
        yield found[0], found[1], next((one for folders in every for one in folders if _standard_library(one)), None)


def _major_of_build() -> int:
    """0 for one without CUDA."""
    found = re.search(rb"compilation tools, release (\d+)", _core.linkable_pool()[:1000])
    return int(found.group(1)) if found else 0


def installations() -> list[list[Path]]:
    """Folders that have a CUDA toolkit together: what the user says, NVIDIA's packages, the system's place."""
    named = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    packages = [path for place in sys.path if place for path in sorted(Path(place, "nvidia").glob("*"), reverse=True)]
    compiler = shutil.which("nvcc")
    system = [Path(compiler).resolve().parent.parent] if compiler else []
    groups = [*([one] for one in named), packages, [Path("/usr/local/cuda")], system]
    every = (tuple(dict.fromkeys(_existing(group))) for group in groups)
    return [list(group) for group in dict.fromkeys(every) if group]


def _existing(folders: list[Path]) -> Iterator[Path]:
    for folder in folders:
        with suppress(OSError, RuntimeError, ValueError):  # of others, a loop of links, no name of a file
            if folder.is_dir() and os.access(folder, os.R_OK | os.X_OK):
                yield folder.resolve()


def _standard_library(folder: Path) -> str:
    """Where `cuda/std` begins; empty where it is not there."""
    places = (folder / "include/cccl", folder / "include")
    return next((str(place) for place in places if (place / "cuda/std/type_traits").is_file()), "")


def libraries(name: str, folders: list[Path]) -> dict[int, Path]:
    """The first of each major version."""
    found: dict[int, Path] = {}
    for folder in folders:
        for path in folder.glob(f"lib*/lib{name}.so.*"):
            if re.search(r"\.so\.\d+$", path.name):
                found.setdefault(_major(path.name), path)
    return found


def _major(library: str) -> int:
    found = re.search(r"\.so\.(\d+)", library)
    return int(found.group(1)) if found else 0


def _version(ask: Function) -> str:
    major, minor = ctypes.c_uint(), ctypes.c_uint()
    ask(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


def demangled(text: str) -> str:
    """The same with functions as they are written in C++, where there is a tool that knows."""
    tool = shutil.which("c++filt") or shutil.which("cu++filt")
    if tool is None or "_Z" not in text:
        return text
    done = subprocess.run([tool], input=text, capture_output=True, text=True, errors="replace", check=False)
    return done.stdout.rstrip("\n") if done.returncode == 0 else text


def _strings(texts: Iterable[str]) -> ctypes.Array[ctypes.c_char_p]:
    encoded = [text.encode() for text in texts]
    return (ctypes.c_char_p * len(encoded))(*encoded)


def _content(size_of: Function, copy: Function, owner: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    size_of(owner, ctypes.byref(size))
    content = ctypes.create_string_buffer(size.value)
    copy(owner, content)
    return content.raw


def _log(size_of: Function, copy: Function, owner: ctypes.c_void_p) -> str:
    return _content(size_of, copy, owner).rstrip(b"\0\n").decode(errors="replace")
