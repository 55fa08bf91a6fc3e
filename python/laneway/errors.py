"""Exceptions of the package; each message is one line that says what was wrong and where."""

import builtins


class Error(Exception):
    """Base of all exceptions of the package."""


class UsageError(Error, ValueError):
    """Wrong use or wrong input: a bad argument, an unknown device, a broken file."""


class SystemError(Error, OSError):  # noqa: A001 - the package's own, named as in C++
    """The operating system refused something: a file, a thread, memory."""


class CudaError(Error):
    """A CUDA call failed."""


class TimeoutError(Error, builtins.TimeoutError):  # noqa: A001
    """A wait passed its deadline; the message names PE, block, operation and what was waited for."""


class DeviceFault(Error):
    """Code on a device reported a fault."""
