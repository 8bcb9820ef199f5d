"""Fixed-topology relaxation: accuracy against an independent certificate, and speed.

    python -m benchmarks.heuristics.relaxation            # 1,000 topologies a row
    python -m benchmarks.heuristics.relaxation --count 50 # quick

Random full topologies on random points are mostly degenerate: many of their edges collapse.
`error` is the relative distance of the returned length to a lower bound that numpy
and scipy compute from the returned positions alone: unit vectors along the edges, turned by least
squares until they balance at every Steiner point, scaled to length at most 1. It bounds the
relative error to the true optimum. `gap` is the certificate that the kernel itself reports. Times
include the checks of the Python function.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.sparse import bsr_array, coo_array, kron
from scipy.sparse.linalg import splu

from deepsteiner.geometry.relaxation import refine, refine_batch, relax


def random_full_topology(rng, n):
    """Edges of a random full topology: each terminal is hung into a random edge."""
    edges = [[0, n], [1, n], [2, n]]
    for terminal in range(3, n):
        row = int(rng.integers(len(edges)))
        a, b = edges[row]
        new = n + terminal - 2
        edges[row] = [a, new]
        edges += [[new, b], [new, terminal]]
    return np.array(edges, dtype=np.int64)


def certified_bound(terminals, steiner, edges):
    """Lower bound for the topology from positions near the optimum, by plain linear algebra."""
    best = 0.0
    length = float(relaxed_length(terminals, steiner, edges))
    for exponent in (-7, -5, -9, -11):
        best = max(best, bound_at(terminals, steiner, edges, 10.0**exponent))
        if length <= best * (1 + 1e-12):
            break
    return best


def relaxed_length(terminals, steiner, edges):
    nodes = np.concatenate((terminals, steiner))
    return np.linalg.norm(nodes[edges[:, 0]] - nodes[edges[:, 1]], axis=1).sum()


def bound_at(terminals, steiner, edges, threshold):
    """A lower bound for the topology by plain linear algebra, from positions near the optimum.

    Vectors y of length <= 1 on the edges that balance at every Steiner point prove that no tree of
    the topology is shorter than sum(y . r). Unit vectors along the edges nearly balance: those of
    collapsed edges (shorter than threshold times the mean) are chosen, then all are turned a little
    by weighted least squares, which changes their lengths only in second order.
    """
    nodes = np.concatenate((terminals, steiner))
    vectors = nodes[edges[:, 0]] - nodes[edges[:, 1]]
    lengths = np.linalg.norm(vectors, axis=1)
    collapsed = lengths < threshold * lengths.mean()
    duals = vectors / np.where(collapsed, np.inf, lengths)[:, None]
    count = len(edges)
    signs, rows = np.repeat([1.0, -1.0], count), np.tile(np.arange(count), 2)
    incidence = coo_array((signs, (rows, edges.T.ravel())), shape=(count, len(nodes)))
    incidence = kron(incidence.tocsc()[:, len(terminals) :], np.eye(2), format="csr")
    turning = np.eye(2) - duals[:, :, None] * duals[:, None, :]
    chosen = np.where(collapsed, 1.0, 0.0)[:, None, None] * np.eye(2)
    for room, applied in (
        (chosen + 1e-7 * np.eye(2), chosen),
        (turning + 1e-6 * np.eye(2), turning + 1e-6 * np.eye(2)),
    ):
        stiffness = bsr_array((room, np.arange(count), np.arange(count + 1)))
        solver = splu((incidence.T @ stiffness @ incidence).tocsc())
        for _ in range(4):
            shift = incidence @ solver.solve(incidence.T @ duals.ravel())
            duals = duals - np.einsum("eij,ej->ei", applied, shift.reshape(-1, 2))
    imbalance = np.abs(incidence.T @ duals.ravel()).sum() * np.ptp(nodes, axis=0).sum()
    scale = max(1.0, float(np.linalg.norm(duals, axis=1).max()))
    return (float((duals * vectors).sum()) - imbalance) / scale


def accuracy_row(rng, n, count):
    errors, gaps, steps, seconds = [], [], [], 0.0
    for _ in range(count):
        terminals, start = rng.random((n, 2)), rng.random((n - 2, 2))
        edges = random_full_topology(rng, n)
        begin = time.perf_counter()
        result = relax(terminals, start, edges)
        seconds += time.perf_counter() - begin
        bound = certified_bound(terminals, result.steiner, edges)
        errors.append(result.length / bound - 1.0)
        gaps.append(result.gap)
        steps.append(result.iterations)
    print(
        f"{n:>9} {count:>6} {max(errors):>10.1e} {max(gaps):>10.1e} {np.mean(steps):>6.1f} "
        f"{1e3 * seconds / count:>9.3f}"
    )


def local_forest(rng, n):
    """A big tree of small components: triples of neighbours along a path of terminals."""
    terminals = np.stack((np.arange(n) / n, 3.0 / n * rng.random(n)), axis=1)
    count = (n - 1) // 2
    centre = n + np.arange(count)
    left = 2 * np.arange(count)
    edges = np.stack((np.repeat(centre, 3), (left[:, None] + np.arange(3)).ravel()), axis=1)
    if n % 2 == 0:
        edges = np.concatenate((edges, [[n - 2, n - 1]]))
    return terminals, terminals[left + 1] + 0.1 / n, edges.astype(np.int64)


def speed_rows(rng):
    n, batch = 10, 5000
    terminals = rng.random((batch, n, 2))
    order = np.argsort(terminals[:, :, 0], axis=1)
    path = np.stack((order[:, :-1], order[:, 1:]), axis=2).reshape(-1, 2)
    empty, offsets = np.zeros((0, 2)), np.zeros(batch + 1, dtype=np.int64)
    refine_batch(terminals[:1], offsets[:2], empty, path[: n - 1])
    begin = time.perf_counter()
    steiner, start, edges = refine_batch(terminals, offsets, empty, path)
    first = time.perf_counter() - begin
    begin = time.perf_counter()
    refine_batch(terminals, start, steiner, edges)
    again = time.perf_counter() - begin
    print(f"refine, n = 10, from a path of terminals: {1e6 * first / batch:.1f} us an instance")
    print(f"refine, n = 10, from a refined tree:      {1e6 * again / batch:.1f} us an instance")
    for size in (10_000, 1_000_000):
        tree = local_forest(rng, size)
        begin = time.perf_counter()
        relax(*tree)
        middle = time.perf_counter()
        refine(*tree)
        end = time.perf_counter()
        print(f"n = {size:,}: relax {middle - begin:.2f} s, refine {end - middle:.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="topologies a row")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    begin = time.perf_counter()
    relax(np.eye(3, 2), np.zeros((1, 2)), [[0, 3], [1, 3], [2, 3]])
    print(f"first call (compiling or loading kernels): {time.perf_counter() - begin:.1f} s")
    print("terminals  count  max error    max gap  steps   mean ms")
    for n in (4, 5, 10, 20, 100):
        accuracy_row(rng, n, arguments.count)
    speed_rows(rng)


if __name__ == "__main__":
    main()
