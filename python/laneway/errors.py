"""Exceptions of the package; each message is one line that says what was wrong and where."""

import builtins


def reason_of(error: OSError) -> str:
    """What the system says of its error, in the case of all other messages: "no such file or directory"."""
    words = error.strerror or str(error)
    return words[:1].lower() + words[1:]


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


class ProcessError(Error):
    """Another process of the job has ended, or does something else; the message names it."""
