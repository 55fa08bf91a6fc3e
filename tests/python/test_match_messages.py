"""Matching of messages and receives on devices, against matching one after the other."""

from __future__ import annotations

import laneway as lw
import numpy as np
import pytest
from laneway.traces.matching import Matcher
from numpy.typing import NDArray


def match_in_turn(
    is_message: NDArray[np.bool_], source: NDArray[np.int64], tag: NDArray[np.int64], queue: NDArray[np.int64]
) -> NDArray[np.int64]:
    partner = np.full(len(is_message), -1)
    matcher = Matcher()
    for event in range(len(is_message)):
        take = matcher.arrive if is_message[event] else matcher.post
        other = take(int(source[event]), int(tag[event]), int(queue[event]), event).found
        if other is not None:
            partner[event], partner[other] = other, event
    return partner


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:3", "checked:2"])
@pytest.mark.parametrize("seed", [1, 2])
def test_matches_as_one_after_the_other(devices: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    n = 600
    is_message = random.random(n) < 0.5
    source, tag, queue = random.integers(0, 3, n), random.integers(0, 4, n), random.integers(0, 5, n)
    source[~is_message & (random.random(n) < 0.3)] = lw.ANY_SOURCE
    tag[~is_message & (random.random(n) < 0.3)] = lw.ANY_TAG
    result = lw.match_messages(is_message, source, tag, queue, devices=devices)
    expected = match_in_turn(is_message, source, tag, queue)
    np.testing.assert_array_equal(result.partner, expected)
    assert result.matches == np.count_nonzero(expected >= 0) // 2
    assert len(result.max_posted) == len(result.max_unexpected) == 5
    assert 0 < result.mean_depth < result.max_depth < n
    assert result.seconds > 0


def test_queues_are_told_apart() -> None:
    queues = [2_000_000_000, 1, 2_000_000_000]
    result = lw.match_messages([True, False, False], [0, 0, 0], [7, 7, 7], queues, devices="cpu:2")
    assert result.partner.tolist() == [2, -1, 0]
    assert result.queues.tolist() == [1, 2_000_000_000]
    assert result.max_posted.tolist() == [1, 0]
    assert result.max_unexpected.tolist() == [0, 1]


def test_nothing_is_matched_in_nothing() -> None:
    assert lw.match_messages([], [], [], devices="cpu:1").partner.tolist() == []


def test_promises() -> None:
    late = lw.match_messages([True, False], [0, 0], [1, 1], no_unexpected=True, devices="cpu:1")
    assert late.partner.tolist() == [-1, -1]
    with pytest.raises(lw.UsageError, match="event 1: a receive of any source, where the rules say"):
        lw.match_messages([True, False], [0, lw.ANY_SOURCE], [1, 1], no_any_source=True, devices="cpu:1")
    with pytest.raises(lw.UsageError, match="a receive of any tag"):
        lw.match_messages([False], [0], [lw.ANY_TAG], no_any_tag=True, devices="cpu:1")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([True], [0, 1], [0]), "one entry an event"),
        (([True], [-1], [0]), "a message has no wildcards"),
        (([True], [0], [-2]), "tag: from -1 to 2147483647, not -2 to -2"),
        (([True], [2**31], [0]), "source: from -1"),
        (([True], [0.5], [0]), r"source: whole numbers, one an event, not float64 of the shape \(1,\)$"),
        (([True], [0], [0], [-1]), "queue: numbers from 0 on"),
        (([[True]], [0], [0]), "one entry an event"),
    ],
)
def test_what_cannot_be(arguments: tuple[list[int], ...], words: str) -> None:
    with pytest.raises(lw.UsageError, match=words):
        lw.match_messages(*arguments, devices="cpu:1")
