"""Laneway: any lane of any kernel posts an operation at any point.

The package offers the library's programs to Python; results are NumPy arrays::

    import laneway as lw

    graph = lw.read_graph("USA-road-d.NY.gr.gz")
    result = lw.sssp(graph, source=1, devices="cpu:4")  # or "cuda", "cuda:0-3"
    print(result.distance.max(), result.report.carried)

The names are those of `laneway.api`. The module of each, as `laneway.public_names` has it, is loaded with its first
use: the command catches signals before anything that takes time, and a script waits for what it uses.
"""

TYPE_CHECKING = False  # that of `typing`, without loading it
if TYPE_CHECKING:
    from typing import Any

    from laneway.api import *  # noqa: F403
    from laneway.cluster import KMeans as KMeans


def __getattr__(name: str) -> object:
    from importlib.util import find_spec

    # Python looks for submodules here before it loads them, which must not load the rest.
    if name in ("__all__", "__version__") or not (name.startswith("_") or find_spec(f"{__name__}.{name}")):
        from laneway.public_names import MODULES

        if name in MODULES:
            globals()[name] = getattr(_load(MODULES[name]), name)
            return globals()[name]
        api = _load("laneway.api")
        if name == "__all__" or name in api.__all__:
            globals()[name] = getattr(api, name)
            return globals()[name]
    if name == "flow":
        return _load("laneway.flow")
    if name == "KMeans":
        return _kmeans()
    raise AttributeError(f"module 'laneway' has no attribute '{name}'")


def _load(module: str) -> "Any":
    """Imports a module of the package, in a thread of its own where the main thread asks for it: what the handler of a
    signal raises leaves the wait for that thread, not the import. NumPy whose import is interrupted says ImportError,
    and can never be imported again."""
    import sys
    import threading
    from importlib import import_module

    result: list[Any] = []

    def load() -> None:
        try:
            result.append(import_module(module))
        except BaseException as error:
            result.append(error)

    modules = [loaded for name, loaded in list(sys.modules.items()) if name.startswith(f"{__name__}.")]
    # A thread would wait for a module that this one is importing.
    importing = any(getattr(getattr(loaded, "__spec__", None), "_initializing", False) for loaded in modules)
    if module in sys.modules or importing or threading.current_thread() is not threading.main_thread():
        return import_module(module)
    loader = threading.Thread(target=load, name=f"import of {module}")
    try:
        loader.start()
    except RuntimeError:  # as Python ends it starts no threads
        return import_module(module)
    loader.join()
    if isinstance(result[0], BaseException):
        raise result[0]
    return result[0]


def _kmeans() -> object:
    """The one name that needs scikit-learn, so it is not among those of `laneway.api`."""
    try:
        return _load("laneway.cluster").KMeans
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "sklearn":
            raise
        raise ImportError("laneway.KMeans needs scikit-learn: pip install 'laneway[sklearn]'") from None


def __dir__() -> list[str]:
    from importlib.util import find_spec

    optional = ["KMeans"] if find_spec("sklearn") else []
    return sorted({*globals(), *_load("laneway.api").__all__, *optional})
