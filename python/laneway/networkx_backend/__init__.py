"""Laneway as a backend of NetworkX: `nx.pagerank(G, backend="laneway")`.

NetworkX finds it by the package's entry points and loads it with the first call that asks for it. To use it by hand::

    from laneway.networkx_backend import Graph

    roads = Graph(lw.read_graph("USA-road-d.NY.gr.gz"), multigraph=True)
    ranks = nx.pagerank(roads)  # runs on the devices, as the graph is one of this backend

Names are loaded when they are first asked for: NetworkX itself reads only the table of functions when it is imported.
"""

TYPE_CHECKING = False  # that of `typing`, without loading it
if TYPE_CHECKING:
    from laneway.networkx_backend.conversion import convert_from_nx as convert_from_nx
    from laneway.networkx_backend.conversion import convert_to_nx as convert_to_nx
    from laneway.networkx_backend.devices import close as close
    from laneway.networkx_backend.graph import Graph as Graph

_MODULES = {"Graph": "graph", "close": "devices", "convert_from_nx": "conversion", "convert_to_nx": "conversion"}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _MODULES:
        raise AttributeError(f"module 'laneway.networkx_backend' has no attribute '{name}'")
    globals()[name] = getattr(import_module(f"laneway.networkx_backend.{_MODULES[name]}"), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
