"""Long compiled calls that Ctrl-C can leave."""

from __future__ import annotations

import threading
from typing import Callable, TypeVar

T = TypeVar("T")


def interruptible(call: Callable[[], T]) -> T:
    """Run `call` in a thread and wait for it so that Ctrl-C reaches the caller at once.

    Compiled code does not look at signals. After an interrupt the call goes on by itself until it ends or its own
    deadline stops it; its result is dropped.
    """
    result: list[T] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            result.append(call())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return result[0]
