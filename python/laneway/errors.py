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


class TaskError(Error):
    """A task failed: its body threw, whose words the message has, a task that it was to follow failed, or its pool
    ended before it was done."""


class TaskWorkerDied(TaskError):  # noqa: N818 - says what happened
    """The worker process of an isolated pool ended while it had the task, as one had before it; or no other can be
    started. The message says how."""


class TaskBodyError(UsageError):
    """Source text of a task's body does not compile; the message has the compiler's words, with lines of the text."""


class PoolFullError(Error):
    """A pool holds as many tasks as it can, or a batch takes more memory than it has, and the call was not to wait."""


class PoolClosedError(UsageError, RuntimeError):
    """A pool takes no more tasks: it was shut down, its session has ended, or it belongs to another process."""


class ProcessError(Error):
    """Another process of the job has ended, or does something else; the message names it."""
