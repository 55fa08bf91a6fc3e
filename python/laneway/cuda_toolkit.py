"""NVIDIA's compiler and linker for GPUs, NVRTC and nvJitLink. They are loaded where the first body for a GPU is
compiled, and nothing else needs them."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from ctypes.util import find_library
from functools import cache
from pathlib import Path
from typing import Callable, NamedTuple

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
        numbers = [ctypes.c_uint() for _ in range(4)]
        self.nvrtc.nvrtcVersion(*map(ctypes.byref, numbers[:2]))
        self.linker.nvJitLinkVersion(*map(ctypes.byref, numbers[2:]))
        return ".".join(str(number.value) for number in numbers)

    def compile(self, text: str, label: str, architecture: int, flags: Sequence[str] = ()) -> bytes:
        """C++17 as PTX whose functions can be linked. Functions without a mark are those of the GPU."""
        options = [f"-arch=compute_{architecture}", "-std=c++17", "-rdc=true", "-default-device"]
        options += [*(f"-I{folder}" for folder in self.folders), *flags]
        program = ctypes.c_void_p()
        headers = (_strings(HEADERS.values()), _strings(HEADERS))
        source = (text.encode(), label.encode(), len(HEADERS))
        self._check(self.nvrtc.nvrtcCreateProgram(ctypes.byref(program), *source, *headers), program)
        try:
            self._check(self.nvrtc.nvrtcCompileProgram(program, len(options), _strings(options)), program)
            return _content(self.nvrtc.nvrtcGetPTXSize, self.nvrtc.nvrtcGetPTX, program)
        finally:
            self.nvrtc.nvrtcDestroyProgram(ctypes.byref(program))

    def link(self, inputs: Sequence[bytes], architecture: int) -> bytes:
        """Machine code for GPUs of one architecture, of PTX."""
        options = [f"-arch=sm_{architecture}", f"-maxrregcount={MAX_REGISTERS}", "-O3"]
        linking = ctypes.c_void_p()
        code = self.linker.nvJitLinkCreate(ctypes.byref(linking), len(options), _strings(options))
        if code != 0:
            raise CudaCompilerError("nvJitLink", f"error {code} for {' '.join(options)}")
        try:
            for number, text in enumerate(inputs):
                given = (text, ctypes.c_size_t(len(text) + 1), f"input {number}".encode())
                self._check_link(self.linker.nvJitLinkAddData(linking, _PTX, *given), linking)
            self._check_link(self.linker.nvJitLinkComplete(linking), linking)
            made = self.linker.nvJitLinkGetLinkedCubinSize, self.linker.nvJitLinkGetLinkedCubin
            return _content(*made, linking)
        finally:
            self.linker.nvJitLinkDestroy(ctypes.byref(linking))

    def _check(self, code: int, program: ctypes.c_void_p) -> None:
        if code == 0:
            return
        log = _log(self.nvrtc.nvrtcGetProgramLogSize, self.nvrtc.nvrtcGetProgramLog, program)
        self.nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise CudaCompilerError("NVRTC", log or self.nvrtc.nvrtcGetErrorString(code).decode())

    def _check_link(self, code: int, linking: ctypes.c_void_p) -> None:
        if code != 0:
            log = _log(self.linker.nvJitLinkGetErrorLogSize, self.linker.nvJitLinkGetErrorLog, linking)
            raise CudaCompilerError("nvJitLink", log or f"error {code}")


@cache
def toolkit() -> Toolkit:
    """TaskBodyError where a part of it is not there."""
    folders = toolkit_folders()
    nvrtc = find_in("nvrtc", folders, None)
    linker = find_in("nvJitLink", folders, nvrtc and _major(nvrtc))
    if nvrtc is None or linker is None:
        raise TaskBodyError(
            "a TaskBody on GPUs needs NVRTC and nvJitLink of one CUDA version, which are not there: "
            "set CUDA_HOME, or pip install nvidia-cuda-nvrtc nvidia-nvjitlink nvidia-cuda-cccl"
        )
    headers = next((folder for folder in folders if _standard_library(folder)), None)
    if headers is None:
        raise TaskBodyError(
            "a TaskBody on GPUs needs the headers of CUDA's C++ library, cuda/std, which are not there: "
            "set CUDA_HOME, or pip install nvidia-cuda-cccl"
        )
    found = (_standard_library(headers), str(headers / "include"))
    try:
        return Toolkit(ctypes.CDLL(nvrtc), ctypes.CDLL(linker), found)
    except OSError as error:
        raise TaskBodyError(f"a TaskBody on GPUs needs NVRTC and nvJitLink: {error}") from None


def toolkit_folders() -> list[Path]:
    """Where a CUDA toolkit, or a part of one, may be: what the user says, NVIDIA's packages, the system's place."""
    named = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    packages = [path for place in sys.path if place for path in sorted(Path(place, "nvidia").glob("*"), reverse=True)]
    compiler = shutil.which("nvcc")
    system = [Path(compiler).resolve().parent.parent] if compiler else []
    every = (path.resolve() for path in (*named, *packages, Path("/usr/local/cuda"), *system) if path.is_dir())
    return list(dict.fromkeys(every))


def _standard_library(folder: Path) -> str:
    """Where `cuda/std` begins; empty where it is not there."""
    places = (folder / "include/cccl", folder / "include")
    return next((str(place) for place in places if (place / "cuda/std/type_traits").is_file()), "")


def find_in(name: str, folders: list[Path], major: str | None) -> str | None:
    """A file, or what the system's loader finds; of this version, if one is said."""
    for path in _files(name, folders):
        if major is None or _major(path) == major:
            return path
    found = find_library(name)
    return found if found is not None and major in (None, _major(found)) else None


def _files(name: str, folders: list[Path]) -> Iterator[str]:
    """Newest first in each folder."""
    for folder in folders:
        files = [str(path) for path in folder.glob(f"lib*/lib{name}.so.*") if re.search(r"\.so\.\d+$", path.name)]
        yield from sorted(files, key=lambda path: int(_major(path)), reverse=True)


def _major(library: str) -> str:
    return library.rpartition(".so.")[2].partition(".")[0]


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
