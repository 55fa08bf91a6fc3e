"""Routers, and the policies that say where their packets go."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, Callable, NamedTuple, Union

from laneway import _core
from laneway.errors import UsageError
from laneway.flow.context import Context, Endpoint


class Packet(NamedTuple):
    """What a policy is told of a packet."""

    message: int
    """Number of the send on its first link, from 0."""
    tag: int
    offset: int
    """Bytes of the array before this packet."""
    nbytes: int
    message_nbytes: int
    """Bytes of the whole array."""


class Route(NamedTuple):
    """Where a packet goes: to the one of these outputs that first has a free buffer, or to all of them."""

    outputs: Sequence[int]
    to_all: bool = False


Policy = Union[str, Callable[[Packet, Endpoint, Sequence[Endpoint]], Union[int, Iterable[int], Route]]]


class Router(Endpoint):
    """Joins many links to many. It holds no packets: each goes from its sender's memory to a buffer of the receiver
    that takes it. When all links to it have been shut down, those from it are. All are made before anything is sent.

    `policy` is the name of one that is known:

    - "available": to whichever output has a free buffer first;
    - "broadcast": to all outputs but the sender;
    - "owner": to the output that the packet's tag numbers;
    - "even": an array is cut into equal parts, one for each output;
    - "ring": to the output behind the sender's own;
    - "tree": to the sender's parent in a binomial tree, whose root sends to the host;

    or a function `policy(packet, source, outputs)`, called on the thread that sends, once for each packet, which
    returns the number of an output, several of which the first that has room takes it, or a `Route`. What it raises
    is the cause of the UsageError that the send raises. It is let go when the context is closed, and not before: a
    context that nobody closes stays open where a policy refers to it. `name` is for messages.
    """

    def __init__(self, context: Context, policy: Policy = "available", name: str = "") -> None:
        if not isinstance(context, Context):
            raise UsageError(f"context must be a laneway.flow.Context, not {context!r}")
        if not isinstance(name, str):
            raise UsageError(f"name must be text, not {name!r}")
        if isinstance(policy, str):
            core = _core.flow_router(context._core, policy, name)
        elif callable(policy):
            core = _core.flow_router(context._core, _adapted(policy), name)
        else:
            raise UsageError(f"policy must be the name of one or a function, not {policy!r}")
        super().__init__(core)


def _adapted(policy: Callable[..., Any]) -> Callable[..., tuple[list[int], bool]]:
    """The function as the compiled part calls it."""

    def choose(
        packet: tuple[int, ...], source: _core.FlowEndpoint, outputs: list[_core.FlowEndpoint]
    ) -> tuple[list[int], bool]:
        ends = tuple(Endpoint(each) for each in outputs)
        return _route_of(policy(Packet(*packet), Endpoint(source), ends), len(ends))

    return choose


def _route_of(chosen: Any, outputs: int) -> tuple[list[int], bool]:
    """UsageError for what is no route."""
    to_all = False
    if isinstance(chosen, Route):
        chosen, to_all = chosen.outputs, bool(chosen.to_all)
    try:
        numbers = list(map(operator.index, chosen)) if isinstance(chosen, Iterable) else [operator.index(chosen)]
    except TypeError:
        raise UsageError(f"a policy returns numbers of outputs, not {chosen!r}") from None
    for number in numbers:
        if not 0 <= number < outputs:
            raise UsageError(f"there is no output {number} of {outputs}")
    return numbers, to_all
