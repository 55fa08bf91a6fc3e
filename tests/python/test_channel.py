"""Objects between processes: small and large ones, many arrays, an end that is gone, and a wait that is left."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from laneway.channel import LARGE, Channel


def pair() -> tuple[Channel, Channel]:
    ours, theirs = socket.socketpair()
    return Channel(ours, lambda: None), Channel(theirs, lambda: None)


def sent(thing: Any) -> Any:
    one, other = pair()
    thread = threading.Thread(target=one.send, args=(thing,))  # large messages wait for a reader
    thread.start()
    found = other.receive()
    thread.join(60)
    return found


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_what_is_sent_is_received() -> None:
    thing = {"a": [1, 2.5, None, True], "b": "ü", "c": (b"\0" * 5_000_000, ValueError("words"))}
    found = sent(thing)
    assert found["c"][0] == thing["c"][0]
    assert str(found["c"][1]) == "words"
    assert (found["a"], found["b"]) == (thing["a"], thing["b"])


@pytest.mark.parametrize("count", [1, 3, 210])
def test_large_arrays_go_through_memory_that_is_given_back(count: int) -> None:
    before = descriptors()
    arrays = [np.full(LARGE // 8 + i, i, np.float64) for i in range(count)]
    structs = np.zeros(LARGE, [("x", "u1"), ("y", "f8")])
    found = sent((arrays, structs, np.arange(9)[::2]))
    assert all(np.array_equal(a, b) for a, b in zip(arrays, found[0]))
    assert found[1].dtype == structs.dtype
    assert found[2].tolist() == [0, 2, 4, 6, 8]
    found[0][0][0] = 5  # they are copies
    assert descriptors() <= before


def test_an_end_that_is_gone() -> None:
    one, other = pair()
    other.send(1)
    other.close()
    assert one.receive() == 1
    with pytest.raises(ConnectionError):
        one.receive()
    with pytest.raises(ConnectionError):
        one.send(b"x" * 10_000_000)


def test_a_message_left_in_its_midst_ends_the_channel() -> None:
    def leave() -> None:
        raise KeyError("enough")

    ours, theirs = socket.socketpair()
    channel, other = Channel(ours, leave), Channel(theirs, leave)
    with pytest.raises(KeyError):
        other.send(b"x" * 10_000_000)  # which the channel does not take
    with pytest.raises(ConnectionError, match="in its midst"):
        other.send(1)
    with pytest.raises(KeyError):
        channel.receive()
    other.close()
    with pytest.raises(ConnectionError, match="in its midst"):
        channel.receive()


def test_waits_can_be_left() -> None:
    def leave() -> None:
        raise KeyError("enough")

    ours, theirs = socket.socketpair()
    channel = Channel(ours, leave)
    with theirs:
        with pytest.raises(KeyError, match="enough"):
            channel.receive()
        with pytest.raises(KeyError, match="enough"):
            channel.send(b"x" * 10_000_000)
