"""Sessions: devices and graphs that stay for many calls, with the results of calls that have none."""

from __future__ import annotations

import copy
import gc
import inspect
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import laneway as lw
import numpy as np
import pytest
from conftest import GPUS, divisions

DEVICES = ["cpu:1", "cpu:3", "checked:2", *(["cuda:0"] if GPUS else []), *(["cuda:0-1"] if GPUS > 1 else [])]
PROGRAMS = ["sssp", "bfs", "pagerank", "color", "indegree", "kmeans", "kmer", "md", "gups", "filter"]
PROGRAMS += ["connected_components", "triangles", "local_clustering", "label_propagation"]
PROGRAMS += ["fibonacci", "queens", "quadrature", "merge_sort", "strassen", "uts"]
RUN_OPTIONS = {"devices", "seed", "timeout", "buffer_bytes", "progress"}
ATOMS = lw.Atoms(0, np.array([[0.0, 6]] * 3), np.arange(1, 4), np.diag([1.0, 2, 3]), np.eye(3))


@pytest.fixture
def graph() -> lw.Graph:
    return lw.generate_kronecker(7, 900, seed=3)


@pytest.fixture
def session() -> Iterator[lw.Session]:
    with lw.Session(devices="cpu:3") as opened:
        yield opened


def weighted(graph: lw.Graph) -> lw.Graph:
    return lw.Graph.from_csr(graph.offsets, graph.heads, np.arange(graph.arcs) % 7 + 0.5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_methods_take_the_arguments_of_the_functions(name: str) -> None:
    alone = inspect.signature(getattr(lw, name)).parameters
    method = inspect.signature(getattr(lw.Session, name)).parameters
    wanted = {key: (each.kind, each.default) for key, each in alone.items() if key not in RUN_OPTIONS}
    assert {key: (each.kind, each.default) for key, each in method.items() if key != "self"} == wanted
    assert alone.keys() >= RUN_OPTIONS
    options = inspect.signature(lw.Session).parameters
    assert {key: alone[key].default for key in RUN_OPTIONS} == {key: options[key].default for key in RUN_OPTIONS}


@pytest.mark.parametrize("devices", DEVICES)
def test_results_are_those_of_single_calls(devices: str) -> None:
    graph = lw.generate_kronecker(5, 150, seed=3)
    heavy = weighted(graph)
    start = {0: 1.0, 5: 2.0}
    points = np.random.default_rng(1).random((60, 3))
    calls = [
        *(lambda on, kind, v=v: on.sssp(heavy, v, **kind) for v in (0, 1, 2)),
        *(lambda on, kind, v=v: on.bfs(heavy, v, **kind) for v in (0, 1, 2)),
        lambda on, kind: on.sssp(graph, sources=[3, 4], delta=2, **kind),
        lambda on, kind: on.pagerank(heavy, **kind),
        lambda on, kind: on.pagerank(heavy, personalization=start, weight=None, **kind),
        lambda on, kind: on.pagerank(heavy, nstart=start, rounds=3, **kind),
        lambda on, kind: on.pagerank(heavy, **kind),
        *(lambda on, kind, order=order: on.color(heavy, order=order, **kind) for order in (1, 1, 2)),
        *(lambda on, kind, walk=walk: on.indegree(heavy, walk=walk, **kind) for walk in ("lists", "arcs", "lists")),
        *[lambda on, kind: on.connected_components(heavy, **kind)] * 2,
        *[lambda on, kind: on.triangles(heavy, **kind)] * 2,
        *[lambda on, kind: on.local_clustering(heavy, **kind)] * 2,
        *(lambda on, kind, rounds=rounds: on.label_propagation(heavy, rounds=rounds, **kind) for rounds in (3, 0, 4)),
        *(lambda on, kind, k=k: on.kmeans(points, k, **kind) for k in (2, 5, 2)),
        *(lambda on, kind, k=k: on.kmer("ACGTTGCATTAG" * 9, k, **kind) for k in (3, 40)),
        *(lambda on, kind, steps=steps: on.md(ATOMS, steps, replicas=3, **kind) for steps in (5, 0, 5)),
        lambda on, kind: on.gups(log2_words=8, updates=64, **kind),
        *(
            lambda on, kind, policy=policy: on.filter(points[:, 0], "x > 0.5", policy=policy, packet_bytes=64, **kind)
            for policy in ("available", "even", "available")
        ),
        *(lambda on, kind, n=n: on.fibonacci(n, memory_bytes=2**16, **kind) for n in (7, 0, 9)),
        *(lambda on, kind, width=width: on.queens(5, grain=2, width=width, **kind) for width in (32, 64)),
        lambda on, kind: on.quadrature(0.2, 0.4, tolerance=1e-2, width=16, **kind),
        *(lambda on, kind, n=n: on.merge_sort(np.arange(n)[::-1], grain=8, width=16, **kind) for n in (60, 1)),
        lambda on, kind: on.strassen(np.eye(8, dtype=int), np.arange(64).reshape(8, 8), grain=4, width=16, **kind),
    ]
    with lw.Session(devices) as session:
        for number, call in enumerate(calls):
            inside, alone = call(session, {}), call(lw, {"devices": devices})
            assert inside == alone, f"call {number}"
            assert (inside.report.devices, inside.report.posted) == (alone.report.devices, alone.report.posted) or (
                isinstance(inside, lw.Result)  # whose work depends on who comes first
            )
        assert session.devices == tuple(alone.report.devices)


def test_reports_are_of_one_call(graph: lw.Graph, session: lw.Session) -> None:
    reports = [session.indegree(graph).report for _ in range(3)]
    assert [each.posted for each in reports] == [graph.arcs] * 3


@pytest.mark.parametrize("devices", DEVICES)
def test_ten_calls_copy_the_graph_once(devices: str) -> None:
    graph = weighted(lw.generate_kronecker(12, 40_000, seed=1))
    rows = graph.heads.nbytes + graph.weights.nbytes + graph.offsets.nbytes
    with lw.Session(devices=devices, timeout=600) as session:
        copied = []
        for source in range(2 if devices.startswith("checked") else 10):
            before = sum(session.copied_bytes)
            result = session.sssp(graph, source)
            copied.append(sum(session.copied_bytes) - before)
            assert (result.partition_seconds > 0) == (source == 0)
        assert copied[0] >= rows
        assert max(copied[1:]) < rows / 20
        assert session.graphs == [graph]


def test_two_graphs_by_turns(graph: lw.Graph, session: lw.Session) -> None:
    other = lw.generate_grid(12, 9, seed=2)
    expected = [
        (each, lw.bfs(each, each.ids[0], devices="cpu:3"), lw.pagerank(each, devices="cpu:3"))
        for each in (graph, other)
    ]
    for _ in range(3):
        for each, paths, ranks in expected:
            assert session.bfs(each, each.ids[0]) == paths
            assert session.pagerank(each) == ranks
    assert session.graphs == [graph, other]
    before = sum(session.copied_bytes)
    session.pagerank(graph)
    assert sum(session.copied_bytes) - before < graph.heads.nbytes


@pytest.mark.parametrize("partition", [*divisions(), "array"])
def test_partitions(graph: lw.Graph, session: lw.Session, partition: str) -> None:
    expected = lw.sssp(graph, 0, devices="cpu:3")
    parts = np.arange(graph.vertices) % 3
    given = parts if partition == "array" else partition
    for _ in range(3):
        assert session.sssp(graph, 0, partition=given) == expected
    parts[:] = 0  # the caller's array is not what the session goes by
    report = session.sssp(graph, 0, partition=parts).report
    assert report.carried == 0


def test_a_graph_cannot_change(graph: lw.Graph) -> None:
    for name in ("offsets", "heads", "weights"):
        view = getattr(graph, name)
        with pytest.raises(ValueError, match=r"read-only|WRITEABLE"):
            view.setflags(write=True)
            view[:] = 0
        with pytest.raises(AttributeError):
            setattr(graph, name, view)


def test_what_may_change_is_set_up_anew(session: lw.Session) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_array(np.array([[0, 5, 0], [0, 0, 1], [0, 0, 0]]))
    first = session.sssp(matrix, 0)
    assert first.distance.tolist() == [0, 5, 6]
    matrix.data[0] = 2
    assert session.sssp(matrix, 0).distance.tolist() == [0, 2, 3]
    assert session.graphs == []


def test_a_graph_goes_with_its_object(graph: lw.Graph, session: lw.Session) -> None:
    session.sssp(graph, 0)
    one = session.held_bytes
    other = lw.generate_kronecker(9, 5000, seed=1)
    session.pagerank(other)
    session.color(other)
    assert sum(session.held_bytes) > sum(one)
    del other
    gc.collect()
    session.sssp(graph, 0)  # whose buffers are the first ones again
    assert (session.graphs, session.held_bytes) == ([graph], one)
    session.forget(graph)
    assert session.graphs == []
    assert sum(session.held_bytes) < sum(one)
    session.forget(graph)
    assert session.sssp(graph, 0) == lw.sssp(graph, 0, devices="cpu:3")


def test_equal_graphs_are_kept_apart(session: lw.Session) -> None:
    graph = lw.generate_kronecker(7, 900, seed=3)
    twin = pickle.loads(pickle.dumps(graph))
    assert twin == graph
    expected = session.sssp(graph, 0).distance.values
    assert np.array_equal(session.sssp(twin, 0).distance.values, expected)
    assert {id(kept) for kept in session.graphs} == {id(graph), id(twin)}
    del graph
    gc.collect()
    assert [kept is twin for kept in session.graphs] == [True]
    assert np.array_equal(session.sssp(twin, 0).distance.values, expected)


def test_graphs_that_die_during_a_call(session: lw.Session) -> None:
    keep = lw.generate_kronecker(9, 5000, seed=1)
    session.bfs(keep, 0)
    over = threading.Event()

    def others() -> None:
        for seed in range(60):
            session.indegree(lw.generate_grid(5, 5, seed=seed))
        over.set()

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(others)
        while not over.is_set():
            session.bfs(keep, 0)
        done.result()
    gc.collect()
    assert session.graphs == [keep]


def test_the_bound_drops_what_was_used_least_recently(graph: lw.Graph) -> None:
    graphs = [weighted(lw.generate_kronecker(10, 30_000, seed=seed)) for seed in range(3)]
    with lw.Session(devices="cpu:2") as session:
        for each in graphs[:2]:
            session.sssp(each, 0)
        two = max(session.held_bytes)
    with lw.Session(devices="cpu:2", kept_bytes=two + 30_000) as session:
        for each in (graphs[0], graphs[1], graphs[0], graphs[2]):
            assert session.sssp(each, 0) == lw.sssp(each, 0, devices="cpu:2")
            assert max(session.held_bytes) <= two + 30_000
        assert session.graphs == [graphs[0], graphs[2]]
    with lw.Session(devices="cpu:2", kept_bytes=0) as session:
        assert session.sssp(graph, 0) == lw.sssp(graph, 0, devices="cpu:2")
        assert session.graphs == []


def test_after_close(graph: lw.Graph) -> None:
    session = lw.Session(devices="cpu:2")
    session.bfs(graph, 0)
    counts = session.kmer("GATTACA", 3)
    table = session.gups(log2_words=8)
    assert counts.count("ATT") == 1
    assert repr(session) == "<laneway.Session: cpu:0, cpu:1>"
    session.close()
    session.close()
    assert repr(session) == "<laneway.Session: closed>"
    assert session.devices == ("cpu:0", "cpu:1")
    calls = [
        lambda: session.bfs(graph, 0),
        lambda: session.pagerank(graph),
        lambda: session.kmeans([[1.0], [2.0]], 1),
        lambda: session.kmer("GATTACA", 3),
        lambda: session.md(ATOMS, 1),
        lambda: session.gups(log2_words=8),
        lambda: counts.count("ATT"),
        table.table,
        lambda: session.held_bytes,
    ]
    for call in calls:
        with pytest.raises(lw.UsageError, match=r"^the session is closed$"):
            call()
    assert lw.bfs(graph, 0, devices="cpu:2").reached > 0


def test_a_block_that_fails_closes_the_session(graph: lw.Graph) -> None:
    with pytest.raises(KeyError), lw.Session(devices="cpu:2") as session:
        raise KeyError
    with pytest.raises(lw.UsageError, match="closed"):
        session.bfs(graph, 0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"devices": "nix"}, "nix"),
        ({"devices": 4}, "devices must be a list"),
        ({"timeout": 0}, "timeout must be a positive number"),
        ({"kept_bytes": -1}, "kept_bytes must be a whole number"),
        ({"buffer_bytes": 0}, "buffer_bytes must be a whole number"),
    ],
)
def test_wrong_options(options: dict[str, object], words: str) -> None:
    with pytest.raises(lw.UsageError, match=words):
        lw.Session(**options)  # type: ignore[arg-type]


def test_a_session_is_not_pickled(session: lw.Session) -> None:
    for put in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(lw.UsageError, match="cannot be pickled or copied: its devices are open in this process"):
            put(session)
    with pytest.raises(lw.UsageError, match="must be a Graph, not dict"):
        session.forget({})  # type: ignore[arg-type]


def test_calls_that_fail_leave_the_session_as_it_was(graph: lw.Graph, session: lw.Session) -> None:
    expected = session.sssp(graph, 0)
    for wrong in (
        lambda: session.sssp(graph, 10_000),
        lambda: session.sssp(graph, 0, partition=np.full(graph.vertices, 3)),
        lambda: session.kmeans([[float("nan")]], 1),
        lambda: session.kmer("AC", 5),
        lambda: session.md(ATOMS, 1, cutoff=5),
    ):
        with pytest.raises(lw.UsageError):
            wrong()
    with pytest.raises(lw.DeviceFault, match="no room left"):
        session.kmer("".join(np.random.default_rng(1).choice(list("ACGT"), 4000)), 21, distinct=1)
    assert session.sssp(graph, 0) == expected


def test_a_deadline_that_passes_leaves_the_session_as_it_was() -> None:
    large, small = lw.generate_grid(700, 700, seed=1), lw.generate_grid(9, 9, seed=1)
    with lw.Session(devices="cpu:2", timeout=2) as session:
        for _ in range(2):
            with pytest.raises(lw.TimeoutError):
                session.pagerank(large, rounds=1_000_000)
            assert session.pagerank(small, rounds=2) == lw.pagerank(small, rounds=2, devices="cpu:2")


IN_A_CALL = """
import signal, sys
import laneway as lw

graph, small = lw.generate_grid(600, 600, seed=1), lw.generate_grid(9, 9, seed=1)
seen = 0
with lw.Session(devices="cpu:2") as session:
    expected = session.bfs(small, small.ids[0])
    for after in (0.002, 0.02, 0.1, 0.3):
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            # Again after 10 s: Python drops an interrupt that comes in a callback of its own.
            signal.setitimer(signal.ITIMER_REAL, after, 10)
            while True:
                session.pagerank(graph, rounds=100_000)
        except KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, 0)
            seen += 1
        assert session.bfs(small, small.ids[0]) == expected
    assert session.pagerank(graph, rounds=3) == lw.pagerank(graph, rounds=3, devices="cpu:2")

    def handler(number, frame):
        try:
            session.bfs(small, small.ids[0])
        except lw.UsageError as error:
            signal.setitimer(signal.ITIMER_REAL, 0)
            print(error)
            raise KeyboardInterrupt
    signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)  # again and again, as the first may come before the call
        session.pagerank(graph, rounds=100_000)
    except KeyboardInterrupt:
        seen += 1
    assert session.bfs(small, small.ids[0]) == expected
print(seen)
"""


def test_interrupts_leave_the_session_as_it_was() -> None:
    done = subprocess.run([sys.executable, "-c", IN_A_CALL], capture_output=True, text=True, timeout=200)
    words = "a call on these devices goes on already: a signal handler cannot begin another in the midst of it"
    assert (done.stdout, done.stderr) == (f"{words}\n5\n", "")


def test_threads_take_turns(graph: lw.Graph, session: lw.Session) -> None:
    expected = [lw.sssp(graph, source, devices="cpu:3") for source in range(4)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda source: session.sssp(graph, source % 4), range(40)))
    assert found == expected * 10
    assert session.graphs == [graph]


def test_close_waits_for_the_call_of_another_thread() -> None:
    graph = lw.generate_grid(200, 200, seed=1)
    session = lw.Session(devices="cpu:2")
    session.indegree(graph)
    begun = threading.Event()

    def call() -> int:
        begun.set()
        return session.pagerank(graph, rounds=40).rounds

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(call)
        begun.wait()
        session.close()
        try:
            assert running.result() == 40
        except lw.UsageError as late:  # the call came behind the close
            assert "closed" in str(late)


def test_a_fork_needs_a_session_of_its_own(graph: lw.Graph, session: lw.Session) -> None:
    expected = session.bfs(graph, 0)
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        said = []
        for call in (lambda: session.bfs(graph, 0), lambda: session.graphs, lambda: session.held_bytes):
            try:
                call()
                said.append("no error")
            except lw.UsageError as error:
                said.append(str(error))
        session.close()
        del session
        gc.collect()
        with lw.Session(devices="cpu:3") as own:
            said.append(str(own.bfs(graph, 0) == expected))
        os.write(theirs, "\n".join(said).encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as reader:
        *refused, same = reader.read().split("\n")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    words = f"the session belongs to process {os.getpid()}, which this one was forked from: open a session here"
    assert (refused, same) == ([words] * 3, "True")
    assert session.bfs(graph, 0) == expected
