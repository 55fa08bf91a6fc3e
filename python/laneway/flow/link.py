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
from laneway.flow.gpu_arrays import GpuArray, stream_behind

PACKET_BYTES = 2**20
BUFFERS = 2


class Segment:
    """What a packet holds of an array that was sent. It lies in a buffer of its link, in the destination's memory,
    until it is released: by `release`, at the end of a `with` block, by sending it on, or when nobody holds it any
    more. All but `release` and `Link.send` with a stream do not wait for what streams of other libraries still do with
    it on a GPU."""

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
        """A copy of its elements in an array of one dimension, also from a GPU: where a stream changes it there, wait
        for that stream before. Raises UsageError where it does not hold whole elements of the type, and when it has
        been released."""
        try:
            kind = np.dtype(dtype)
        except (TypeError, ValueError, SyntaxError):  # the last one for text such as "(2,"
            raise UsageError(f"dtype must be a type of NumPy, not {dtype!r}") from None
        if kind.subdtype is not None:
            raise UsageError(f"dtype must be that of one element, not of an array of them, {kind}")
        if kind.hasobject or kind.itemsize == 0 or self.nbytes % kind.itemsize != 0:
            raise UsageError(f"a segment of {self.nbytes} bytes has no whole elements of {kind}")
        copied: NDArray[Any] = self._core.bytes().view(kind)
        return copied

    def unpack(self, into: NDArray[Any], pieces: ArrayLike | None = None) -> None:
        """Put its elements where they belong in `into`: an array of as many bytes as was sent, of any strides, or
        `pieces` of it as `Link.send` takes them. Also from a GPU, as `array`; nothing else of `into` changes. Raises
        UsageError where pieces overlap or are not within the array, where sizes differ, and when it has been
        released."""
        if not isinstance(into, np.ndarray) or isinstance(into, np.ma.MaskedArray) or not into.flags.writeable:
            raise UsageError("into must be an array of NumPy that can be written to")
        order = order_of(into, pieces)
        self._core.unpack(into, address_of(into), order)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Its bytes where they lie on a GPU, for other libraries to compute on without a copy:
        `cupy.asarray(segment).view("f4")`. They are there, or come before what the stream of `Receiving.result` is
        given next, so no stream is named. What is made of it keeps the segment; behind `release` the next packet is
        written there, see there. What changes the bytes is done before they are sent on where `Link.send` gets its
        stream. Raises AttributeError for a segment that lies elsewhere, and UsageError when it has been released."""
        if not self._on_gpu:
            raise AttributeError(f"a segment in memory of {self._core.place} has __array_interface__")
        return self._interface() | {"stream": None}

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The same of a segment in memory of the host or a CPU device: `numpy.asarray(segment).view("f4")`."""
        if self._on_gpu:
            raise AttributeError(f"a segment in memory of {self._core.place} has __cuda_array_interface__")
        return self._interface()

    @property
    def _on_gpu(self) -> bool:
        return is_gpu(self._core.place)

    def _interface(self) -> dict[str, Any]:
        return {"shape": (self.nbytes,), "typestr": "|u1", "data": (self._core.address, False), "version": 3}

    def release(self, stream: Any = None) -> None:
        """Make the buffer free for another packet: now, or on a GPU, behind what `stream` has been given so far, where
        a library still computes on it: a stream of CuPy or PyTorch, what has `__cuda_stream__`, or its number. Raises
        UsageError the second time, and for a stream of a segment that does not lie on a GPU."""
        self._core.release(stream_behind(stream))

    def __enter__(self) -> Segment:
        return self

    def __exit__(self, _: object, raised: BaseException | None, __: object) -> None:
        """As `release()`, unless it has been released: where a stream still computes on it, end the block with
        `release(stream)`, or wait for the stream."""
        if self._core.released:
            return
        try:
            self._core.release()
        except UsageError:  # the context has been closed, which is not what has to be told of a block that raises
            if raised is None:
                raise

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
    """A packet that is to come. Any thread."""

    def __init__(self, core: _core.FlowReceive) -> None:
        self._core = core
        self._came: dict[str, Segment | None] = {}
        self._there = False

    def done(self) -> bool:
        """Whether `result` returns at once."""
        return self._core.done()

    def result(self, stream: Any = None) -> Segment | None:
        """Wait until the packet is there; the same one each time. None at the end: all senders have shut down, and all
        has been received. With `stream`, as `Segment.release` takes it, wait only until the packet is on its way: what
        that stream is given from now on comes behind the packet's bytes, for which the GPU waits.

        Raises what ended the dataflow, TimeoutError that names the link after the context's `timeout`, and UsageError
        for a stream where the link does not end at a GPU."""
        behind = stream_behind(stream)
        if behind is not None or not self._there:
            came = self._core.wait(behind)
            self._came.setdefault("segment", None if came is None else Segment(came))  # of several threads, the first's
            self._there = self._there or behind is None
        return self._came["segment"]


class Link:
    """Joins two endpoints of a context: what is sent at `source` arrives at `destination` in packets of `packet_bytes`
    at most, for which the destination has `buffers` buffers. A router is the destination of links from its senders, and
    the source of links to its receivers; a link from a device or the host to a router has no buffers, as packets go to
    the receiver's at once.

    `copies` says what copies packets: "engine", a device's copy engine, "kernel", its multiprocessors, or "rule", which
    chooses for each packet by its size, its strides and what is under way. Behind a router that of the receiving link
    counts.

    Packets of one sender arrive in their order where they take one road. Any thread. Raises UsageError for a link from
    an endpoint to itself, a second one between the same two, one between two routers, and ends in different contexts.
    """

    def __init__(
        self,
        source: Endpoint,
        destination: Endpoint,
        *,
        packet_bytes: int = PACKET_BYTES,
        buffers: int = BUFFERS,
        copies: str = "rule",
    ) -> None:
        require_whole("packet_bytes", packet_bytes, 1, 48)
        require_whole("buffers", buffers, 1, 16)
        self._source = source
        self._core = _core.FlowLink(core_of(source), core_of(destination), packet_bytes, buffers, str(copies))

    @property
    def name(self) -> str:
        """ "link host -> cpu:0"."""
        return self._core.name

    @property
    def packets(self) -> tuple[int, int]:
        """Packets given to the destination, and how many of these multiprocessors have copied; none where it is a
        router."""
        total, by_kernel = self._core.packets
        return total, by_kernel

    def send(
        self, what: ArrayLike | Segment, tag: int = 0, *, pieces: ArrayLike | None = None, stream: Any = None
    ) -> Sending:
        """Send an array, or pass on a segment that has been received where the link begins, which then is released when
        it has gone on. Returns at once.

        An array is of any numbers and any strides; its elements arrive in their order, side by side, whole rows in a
        packet where one fits. `pieces`, pairs of a first element and a count, says which elements of a contiguous array
        are sent, in which order. It is not copied: it stays as it is until the send is done. It may belong to the host,
        whatever the link's source. Receivers get `tag` with each packet.

        An array on the GPU where the link begins is any contiguous one with `__cuda_array_interface__`, of CuPy, Numba
        or PyTorch.

        What is sent from a GPU goes behind what `stream`, as `Segment.release` takes it, has been given so far, be it
        an array or a segment whose bytes have been changed where they lie. Without it an array of a GPU goes behind the
        stream that its interface names, or that GPU's legacy default stream, where it names none, as that of PyTorch
        and that of Numba outside its own streams; a segment goes at once.

        Raises UsageError after `shutdown`, for elements longer than a packet, for pieces that are not within the array,
        at links from routers, where a router's policy raises or names no destination, for an array of another GPU, for
        a stream where the link begins at no GPU, and where `copies` is "kernel" and no device's lanes reach the array.
        """
        require_whole("tag", tag)
        behind = stream_behind(stream)
        if isinstance(what, Segment):
            if pieces is not None:
                raise UsageError("pieces are of an array: a segment is passed on as a whole")
            return Sending(_core.flow_pass_on(self._core, what._core, tag, behind))
        if hasattr(what, "__cuda_array_interface__"):
            return self._send_from_gpu(what, tag, pieces, behind)
        array = as_array("what", what)
        order = order_of(array, pieces)
        return Sending(_core.flow_send(self._core, array, address_of(array), order, array.dtype.itemsize, tag, behind))

    def _send_from_gpu(self, what: Any, tag: int, pieces: ArrayLike | None, behind: int | None) -> Sending:
        if pieces is not None:
            raise UsageError("pieces are of an array of the host: one of a GPU is sent as a whole")
        if not is_gpu(self._source.name):
            raise UsageError(f"{self.name}: an array of a GPU is sent from an endpoint of that GPU")
        array = GpuArray(what)
        item = array.dtype.itemsize
        order = _core.flow_strided(item, [(array.count, item)])
        if behind is None:
            behind = array.stream
        return Sending(_core.flow_send(self._core, what, array.address, order, item, tag, behind, True))

    def shutdown(self) -> None:
        """Say that nothing more will be sent: receivers get all that was, and then the end. More than once is no
        error."""
        self._core.shutdown()

    def receive(self) -> Receiving:
        """The next packet; receives are served in their order. Returns at once. Raises UsageError at links to
        routers."""
        return Receiving(_core.flow_receive(self._core))

    def __iter__(self) -> Iterator[Segment]:
        """All packets until the end, each released when the next one is asked for, unless it has been before: as at the
        end of a `with` block, without regard to streams that still compute on it on a GPU."""
        while (segment := self.receive().result()) is not None:
            with segment:
                yield segment

    def __repr__(self) -> str:
        return f"<laneway.flow.Link: {self.name}>"


def is_gpu(name: str) -> bool:
    """Whether an endpoint of this name has a GPU's memory."""
    return name.startswith("cuda:")


def address_of(array: NDArray[Any]) -> int:
    """Of its first element."""
    return int(array.__array_interface__["data"][0])


def order_of(array: NDArray[Any], pieces: ArrayLike | None) -> _core.FlowLayout:
    """Where the elements of an array lie behind its first one, or those of some pieces of it."""
    item = array.dtype.itemsize
    if array.dtype.hasobject or item == 0:
        raise UsageError(f"an array of {array.dtype} has no elements that can be sent")
    if pieces is None:
        return _core.flow_strided(item, list(zip(array.shape, array.strides)))
    if not array.flags.c_contiguous:
        raise UsageError("pieces are of a contiguous array: np.ascontiguousarray")
    pairs = as_array("pieces", pieces)
    if pairs.size == 0:
        pairs = np.empty((0, 2), np.int64)
    if pairs.dtype.kind not in "iu" or pairs.ndim != 2 or pairs.shape[1] != 2:
        raise UsageError("pieces must be pairs of whole numbers, a first element and a count each")
    return _core.flow_scattered(item, array.size, np.ascontiguousarray(pairs, np.int64))
