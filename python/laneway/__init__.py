"""Laneway: any lane of any kernel posts an operation at any point.

The package offers the library's programs to Python; results are NumPy arrays::

    import laneway as lw

    graph = lw.read_graph("USA-road-d.NY.gr.gz")
    result = lw.sssp(graph, source=1, devices="cpu:4")  # or "cuda", "cuda:0-3"
    print(result.distance.max(), result.report.carried)

The names are those of `laneway.api`, which is loaded with the first of them: the command catches signals before
anything that takes time.
"""

TYPE_CHECKING = False  # that of `typing`, without loading it
if TYPE_CHECKING:
    from laneway.api import *  # noqa: F403
    from laneway.cluster import KMeans as KMeans


def __getattr__(name: str) -> object:
    from laneway.signals import Held

    # NumPy that an exception stops half-way says ImportError instead, and can never be loaded again.
    with Held():
        return _load(name)


def _load(name: str) -> object:
    from importlib import import_module
    from importlib.util import find_spec

    # Python looks for submodules here before it loads them, which must not load the rest.
    if name in ("__all__", "__version__") or not (name.startswith("_") or find_spec(f"{__name__}.{name}")):
        api = import_module("laneway.api")
        if name == "__all__" or name in api.__all__:
            globals()[name] = getattr(api, name)
            return globals()[name]
    if name == "flow":
        return import_module("laneway.flow")
    if name == "KMeans":
        return _kmeans()
    raise AttributeError(f"module 'laneway' has no attribute '{name}'")


def _kmeans() -> object:
    """The one name that needs scikit-learn, so it is not among those of `laneway.api`."""
    try:
        from laneway.cluster import KMeans
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "sklearn":
            raise
        raise ImportError("laneway.KMeans needs scikit-learn: pip install 'laneway[sklearn]'") from None
    return KMeans


def __dir__() -> list[str]:
    from importlib import import_module
    from importlib.util import find_spec

    from laneway.signals import Held

    optional = ["KMeans"] if find_spec("sklearn") else []
    with Held():
        return sorted({*globals(), *import_module("laneway.api").__all__, *optional})
