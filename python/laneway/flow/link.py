"""Links, what is sent over them, and what arrives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from laneway import _core
from laneway.arguments import require_whole
from laneway.arrays import as_array
from laneway.errors import UsageError
from laneway.flow.context import Endpoint, core_of

PACKET_BYTES = 2**20
BUFFERS = 2


class Segment:
    """What a packet holds of an array that was sent. It lies in a buffer of its link, in the destination's memory,
    until it is released: by `release`, at the end of a `with` block, by sending it on, or when nobody holds it any
    more."""

    def __init__(self, core: _core.FlowSegment) -> None:
        self._core = core

    @property
    def message(self) -> int:
        """Number of the send on its first link, from 0."""
        return self._core.message

    @property
    def tag(self) -> int:
        """The sender's word about the array."""
        return self._core.tag

    @property
    def offset(self) -> int:
        """Bytes of the array before this packet."""
        return self._core.offset

    @property
    def nbytes(self) -> int:
        return self._core.nbytes

    @property
    def message_nbytes(self) -> int:
        """Bytes of the whole array."""
        return self._core.message_nbytes

    @property
    def source(self) -> Endpoint:
        """Who has sent it, before all routers."""
        return Endpoint(self._core.source)

    def array(self, dtype: DTypeLike = np.uint8) -> NDArray[Any]:
        """A copy of its elements in an array of one dimension, also from a GPU. Raises UsageError where it does not
        hold whole elements of the type, and when it has been released."""
        kind = np.dtype(dtype)
        if kind.hasobject or kind.itemsize == 0 or self.nbytes % kind.itemsize != 0:
            raise UsageError(f"a segment of {self.nbytes} bytes has no whole elements of {kind}")
        copied: NDArray[Any] = self._core.bytes().view(kind)
        return copied

    def release(self) -> None:
        """Make the buffer free for another packet. Raises UsageError the second time."""
        self._core.release()

    def __enter__(self) -> Segment:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._core.released:
            self._core.release()

    def __repr__(self) -> str:
        end = self.offset + self.nbytes
        return f"<laneway.flow.Segment: bytes {self.offset} to {end} of {self.message_nbytes}, tag {self.tag}>"


class Sending:
    """A send that goes on."""

    def __init__(self, core: _core.FlowSend) -> None:
        self._core = core

    def done(self) -> bool:
        """Whether all of the array has been received, or will not be."""
        return self._core.done()

    def result(self) -> None:
        """Wait until all of the array has been received, so that it may change. Raises what ended the dataflow, and
        TimeoutError that names the link after the context's `timeout`."""
        self._core.wait()


class Receiving:
    """A packet that is to come."""

    def __init__(self, core: _core.FlowReceive) -> None:
        self._core = core
        self._segment: Segment | None = None

    def done(self) -> bool:
        """Whether `result` returns at once."""
        return self._core.done()

    def result(self) -> Segment | None:
        """Wait until the packet is there; the same one each time. None at the end: all senders have shut down, and all
        has been received. Raises what ended the dataflow, and TimeoutError that names the link after the context's
        `timeout`."""
        if self._segment is None:
            came = self._core.wait()
            self._segment = None if came is None else Segment(came)
        return self._segment


class Link:
    """Joins two endpoints of a context: what is sent at `source` arrives at `destination` in packets of `packet_bytes`
    at most, for which the destination has `buffers` buffers. A router is the destination of links from its senders, and
    the source of links to its receivers; a link from a device or the host to a router has no buffers, as packets go to
    the receiver's at once.

    Packets of one sender arrive in their order where they take one road. Any thread. Raises UsageError for a link from
    an endpoint to itself, a second one between the same two, one between two routers, and ends in different contexts.
    """

    def __init__(
        self, source: Endpoint, destination: Endpoint, *, packet_bytes: int = PACKET_BYTES, buffers: int = BUFFERS
    ) -> None:
        require_whole("packet_bytes", packet_bytes, 1, 48)
        require_whole("buffers", buffers, 1, 16)
        self._core = _core.FlowLink(core_of(source), core_of(destination), packet_bytes, buffers)

    @property
    def name(self) -> str:
        """ "link host -> cpu:0"."""
        return self._core.name

    def send(self, what: ArrayLike | Segment, tag: int = 0) -> Sending:
        """Send an array, or pass on a segment that has been received where the link begins, which then is released when
        it has gone on. Returns at once.

        An array is of any numbers, contiguous, or a matrix with contiguous rows, of which a packet holds whole ones. It
        is not copied: it stays as it is until the send is done. It may belong to the host, whatever the link's source.
        Receivers get `tag` with each packet. Raises UsageError after `shutdown`, for elements or rows longer than a
        packet, at links from routers, and where a router's policy raises or names no destination.
        """
        require_whole("tag", tag)
        if isinstance(what, Segment):
            return Sending(_core.flow_pass_on(self._core, what._core, tag))
        array = as_array("what", what)
        return Sending(_core.flow_send(self._core, _rows_of(array), array.dtype.itemsize, tag))

    def shutdown(self) -> None:
        """Say that nothing more will be sent: receivers get all that was, and then the end. More than once is no
        error."""
        self._core.shutdown()

    def receive(self) -> Receiving:
        """The next packet; receives are served in their order. Returns at once. Raises UsageError at links to
        routers."""
        return Receiving(_core.flow_receive(self._core))

    def __iter__(self) -> Iterator[Segment]:
        """All packets until the end, each released when the next one is asked for."""
        while (segment := self.receive().result()) is not None:
            with segment:
                yield segment

    def __repr__(self) -> str:
        return f"<laneway.flow.Link: {self.name}>"


def _rows_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of an array as a matrix: of a contiguous one in one row."""
    if array.dtype.hasobject or array.dtype.itemsize == 0:
        raise UsageError(f"an array of {array.dtype} has no elements that can be sent")
    if array.flags.c_contiguous:
        return array.reshape(-1).view(np.uint8).reshape(1, -1)
    item = array.dtype.itemsize
    if array.ndim == 2 and array.strides[1] == item and array.strides[0] >= array.shape[1] * item:
        return array.view(np.uint8)
    raise UsageError("an array that is sent must be contiguous, or a matrix with contiguous rows: np.ascontiguousarray")
