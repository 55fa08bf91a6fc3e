"""Exceptions of the package; each message is one line that says what was wrong and where."""

import builtins


class Error(Exception):
    """Base of all exceptions of the package."""


class UsageError(Error, ValueError):
    """Wrong use or wrong input: a bad argument, an unknown device, a broken file."""


class SystemError(Error, OSError):
    """The operating system refused something: a file, a thread, memory."""


class CudaError(Error):
    """A CUDA call failed."""


class TimeoutError(Error, builtins.TimeoutError):
    """A wait passed its deadline; the message names PE, block, operation and what was waited for."""


class DeviceFault(Error):  # noqa: N818 - the field's word
    """Code on a device reported a fault."""
