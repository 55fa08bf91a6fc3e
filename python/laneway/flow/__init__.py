"""Links and routers: arrays that flow between the host and devices, driven by Python threads.

    with lw.flow.Context("cpu:2") as ctx:
        to_devices = lw.flow.Router(ctx, "available")
        feed = lw.flow.Link(ctx.host, to_devices, packet_bytes=2**16)
        ...

The programming model is that of Groute (Ben-Nun, Sutton, Pai, Pingali, 2017 and 2020).
"""

from laneway.flow.context import Context, Endpoint, Path
from laneway.flow.group import Group
from laneway.flow.link import Link, Receiving, Segment, Sending
from laneway.flow.router import Packet, Route, Router

__all__ = [
    "Context",
    "Endpoint",
    "Group",
    "Link",
    "Packet",
    "Path",
    "Receiving",
    "Route",
    "Router",
    "Segment",
    "Sending",
]
