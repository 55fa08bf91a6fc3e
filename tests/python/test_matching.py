"""The matching model of MPI against plain lists that are searched from their heads."""

from __future__ import annotations

import random
from typing import Any

import pytest
from laneway.traces.calls import ANY_SOURCE, ANY_TAG
from laneway.traces.matching import Matcher


def fits(receive: tuple[int, int, str], message: tuple[int, int, str]) -> bool:
    (source, tag, communicator), (sender, sent, world) = receive, message
    return communicator == world and source in (sender, ANY_SOURCE) and tag in (sent, ANY_TAG)


class Lists:
    """The two queues as lists."""

    def __init__(self) -> None:
        self.posted: list[tuple[Any, Any]] = []
        self.unexpected: list[tuple[Any, Any]] = []

    def arrive(self, key: tuple[int, int, str], message: object) -> tuple[object, int, int, bool]:
        return self._match(self.posted, lambda receive: fits(receive, key), self.unexpected, key, message)

    def post(self, key: tuple[int, int, str], receive: object) -> tuple[object, int, int, bool]:
        return self._match(self.unexpected, lambda message: fits(key, message), self.posted, key, receive)

    def _match(self, queue: Any, good: Any, other: Any, key: Any, entry: Any) -> tuple[object, int, int, bool]:
        length = len(queue)
        places = [place for place, (found, _) in enumerate(queue) if good(found)]
        if not places:
            other.append((key, entry))
            return None, length, length, False
        return queue.pop(places[0])[1], places[0] + 1, length, len(places) > 1


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_match_as_lists_do(seed: int) -> None:
    choose = random.Random(seed)
    sources, tags = choose.randint(1, 6), choose.randint(1, 6)
    wild = choose.random()
    matcher, lists = Matcher(), Lists()
    tickets: dict[int, int] = {}
    for step in range(400):
        communicator = choose.choice("ab")
        source, tag = choose.randrange(sources), choose.randrange(tags)
        what = choose.random()
        if what < 0.06 and lists.posted:
            place = choose.randrange(len(lists.posted))
            _, receive = lists.posted.pop(place)
            found = matcher.withdraw(tickets[receive])
            assert (found.found, found.depth) == (receive, place + 1)
        elif what < 0.12:
            expected = [each for key, each in lists.unexpected if fits((ANY_SOURCE, tag, communicator), key)]
            assert matcher.probe(ANY_SOURCE, tag, communicator).found == (expected[0] if expected else None)
        elif what < 0.56:
            assert matcher.arrive(source, tag, communicator, step)[:4] == lists.arrive(
                (source, tag, communicator), step
            )
        else:
            source = ANY_SOURCE if choose.random() < wild else source
            tag = ANY_TAG if choose.random() < wild else tag
            found = matcher.post(source, tag, communicator, step)
            assert found[:4] == lists.post((source, tag, communicator), step)
            tickets[step] = found.ticket
    assert (len(matcher.posted), len(matcher.unexpected)) == (len(lists.posted), len(lists.unexpected))


def test_messages_of_one_sender_do_not_overtake() -> None:
    matcher = Matcher()
    for number in range(5):
        matcher.arrive(0, 7, "world", number)
    assert [matcher.post(ANY_SOURCE, ANY_TAG, "world", None).found for _ in range(5)] == list(range(5))


def test_earlier_receives_come_first_with_and_without_wildcards() -> None:
    matcher = Matcher()
    for name, source, tag in (("any", ANY_SOURCE, 1), ("exact", 3, 1), ("tag", 3, ANY_TAG)):
        matcher.post(source, tag, "world", name)
    found = [matcher.arrive(3, 1, "world", None) for _ in range(4)]
    assert [each.found for each in found] == ["any", "exact", "tag", None]
    assert [each.choice for each in found] == [True, True, False, False]
    assert [each.depth for each in found] == [1, 1, 1, 0]


def test_communicators_are_worlds_of_their_own() -> None:
    matcher = Matcher()
    matcher.post(ANY_SOURCE, ANY_TAG, "a", "receive")
    assert matcher.arrive(0, 0, "b", "message").found is None
    assert matcher.post(0, 0, "b", "other").found == "message"
    assert len(matcher.posted) == 1


def test_long_queues_are_searched_by_key() -> None:
    """In reverse order each of 2 * 10^4 searches of lists would look at all that is left."""
    matcher = Matcher()
    for tag in range(20_000):
        matcher.post(0, tag, "world", tag)
    depths = [matcher.arrive(0, tag, "world", None).depth for tag in reversed(range(20_000))]
    assert depths == list(range(20_000, 0, -1))
