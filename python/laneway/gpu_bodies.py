"""Bodies of tasks on GPUs: source text, compiled by NVRTC and linked into the pool's program by nvJitLink. Both results
are kept on disk."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from laneway import _core
from laneway.body_functions import why_no_body
from laneway.body_wrapper import dispatcher, wrapped_for_gpu
from laneway.compiled_files import kept, key_of
from laneway.cuda_toolkit import CudaCompilerError, toolkit
from laneway.errors import TaskBodyError

LABEL = "body"
"""What the compiler's messages call the user's text."""
_PREPROCESSING = ("-D", "-I", "-U")
_SHARED = re.compile(rb"^\.(?:visible|weak)[ \t]+(?=\.(?:func|global|const)\b)(?!\.func laneway_body_)", re.MULTILINE)


@dataclass(frozen=True)
class GpuBody:
    """What a GPU needs to know of a `TaskBody`."""

    source: str
    entry: str
    flags: tuple[str, ...]
    cache: Path | None
    sizes: tuple[int, int]
    """Bytes of all arguments, and of the result."""

    @property
    def symbol(self) -> str:
        """Of the function that the pool's program calls: the same for the same body only."""
        return f"laneway_body_{key_of(self.source, self.entry, *self.flags)}"

    def ptx(self, architecture: int) -> bytes:
        """Compile it unless that has been done before. TaskBodyError where it does not compile."""
        tools = toolkit()
        text = wrapped_for_gpu(self.source, self.entry, LABEL, self.symbol, self.sizes)
        flags = preprocessing(self.flags)
        key = key_of(text, tools.version, *tools.folders, str(architecture), *flags)

        def compiled() -> bytes:
            try:
                return alone(tools.compile(text, LABEL, architecture, flags))
            except CudaCompilerError as error:
                why = why_no_body(self.source, self.entry, error.words, LABEL)
                reason = f": {why}" if why else ""
                raise TaskBodyError(f"the body does not compile for GPUs{reason}; {error}") from None

        return kept(self.cache, f"{key}.ptx", compiled)


def preprocessing(flags: tuple[str, ...]) -> list[str]:
    """Those flags of the host's compiler that NVRTC has as well, each in one word."""
    found: list[str] = []
    words = iter(flags)
    for word in words:
        if word in _PREPROCESSING:
            found.append(word + next(words, ""))
        elif word.startswith(_PREPROCESSING):
            found.append(word)
    return found


def alone(ptx: bytes) -> bytes:
    """The same where others see only what the pool calls: two bodies may have functions and variables of one name."""
    return _SHARED.sub(b"", ptx)


def linked(program: bytes, bodies: list[GpuBody], architecture: int) -> bytes:
    """Machine code of the pool's program, PTX, with bodies in the order of their numbers. TaskBodyError where one does
    not compile, or cannot be linked."""
    tools = toolkit()
    parts = [program, *(body.ptx(architecture) for body in bodies)]
    calls = dispatcher([body.symbol for body in bodies])
    key = key_of(tools.version, str(architecture), calls, *parts)

    def made() -> bytes:
        try:
            return tools.link([*parts, tools.compile(calls, "dispatcher", architecture)], architecture)
        except CudaCompilerError as error:
            raise TaskBodyError(f"the body cannot be linked into the pool's program for GPUs; {error}") from None

    return kept(bodies[-1].cache, f"{key}.cubin", made)


class Core(Protocol):
    """The part of a pool's compiled core that this needs."""

    def architectures(self) -> list[int]: ...

    def link(self, numbers: dict[int, int], code: dict[int, bytes]) -> None: ...


class GpuBodies:
    """Those that the GPUs of a pool have. Any thread."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._lock = threading.Lock()
        self._bodies: list[GpuBody] = []
        """By number; numbers stay, as tasks that wait have them."""
        self._numbers: dict[int, int] = {}
        """By address of what CPU devices call, which tasks name them with."""

    def require(self, body: GpuBody, address: int) -> None:
        """Have the pool's program take over with this body, unless it has it. Raises TaskBodyError, and what ended the
        pool."""
        if address in self._numbers:
            return
        with self._lock:
            symbols = [one.symbol for one in self._bodies]
            is_new = body.symbol not in symbols
            bodies = [*self._bodies, body] if is_new else self._bodies
            numbers = {**self._numbers, address: len(symbols) if is_new else symbols.index(body.symbol)}
            code = {}
            if is_new:
                program = _core.linkable_pool()
                code = {which: linked(program, bodies, which) for which in self._core.architectures()}
            self._core.link(numbers, code)
            self._bodies, self._numbers = bodies, numbers
