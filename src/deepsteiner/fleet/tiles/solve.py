"""`solve_tiles`: one huge instance, tile by tile, on any executor.

1. The points are sorted along a Hilbert curve; tiles are runs of cells.
2. The minimum spanning tree: that of each tile, and that of each strip where tiles meet, contain
   it, as long as no edge of the result is longer than a strip is wide. Where one is, strips are
   made wider until that holds, so the tree is exact.
3. In each tile, the parts of the spanning tree that hang together there become Steiner trees.
4. Seams: areas along the borders between such parts are solved again, whatever hangs together in
   them (`areas`).

The whole stays a tree after every step. Workers hold a tile, a strip or an area; this process holds
a few numbers for each point.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from ...core.errors import OptionError
from ...core.points import Array, FloatArray, IntArray
from ...core.scalars import as_whole
from ...registry import get_method
from ...run.executor import HereExecutor, ProcessExecutor
from ...run.monitor import Monitor, ProgressCallback
from ...run.watch import Stopped
from ..hands import Call, Hands
from .areas import Whole, areas_of
from .grid import Tiling, cells_for, hilbert_order
from .pieces import Pieces, terminals_in
from .repair import solve_area
from .sources import mapped_points
from .store import PartedTree, check_parted, save_part
from .tasks import POINTS, Search, area_file, edge_lengths, solve_tile, spanning_edges, tree_file

TILE_POINTS, LEAST_TILE = 500_000, 100
# The width of the first strips, in cells.
STRIP_CELLS = 3


def solve_tiles(
    points: Any,
    folder: str,
    method: str = "neural",
    *,
    tile: int = TILE_POINTS,
    workers: int = 1,
    executor: Executor | None = None,
    on_progress: ProgressCallback | None = None,
    **options: Any,
) -> PartedTree | None:
    """Solve one huge instance in tiles and write its tree as a folder of parts.

    Parameters
    ----------
    points
        The path of an .npy file, (n, 2), of a Parquet file with columns x and y, or of GeoParquet
        with projected points; or an array.
    folder
        Where the tree goes; it must be empty or not there. Workers on other machines must see it
        under the same path.
    method
        A method for large instances: "neural" or "local".
    tile
        About how many points a tile has, on which the memory of a worker depends.
    workers, executor
        As in `solve_many`.
    on_progress
        Called with a `Progress` that counts tiles; return False to stop, without a tree.
    options
        The method's options.

    Returns
    -------
    PartedTree, or None where it was stopped
        Lengths and counts; `iter_parts` has the arrays. The tree is checked first.

    Raises
    ------
    WorkerError
        If a tile failed on every try.
    PointsError, FormatError, OptionError
        If the points, the folder or an option cannot be used.

    Examples
    --------
    >>> import tempfile, deepsteiner as ds
    >>> points = np.random.default_rng(0).random((3000, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tree = solve_tiles(points, f"{folder}/tree", "local", tile=1000, effort="fast")
    ...     tree.length < 0.975 * ds.solve(points, "mst").length
    True
    """
    chosen = get_method(method, options)
    size, count = as_whole(tile), as_whole(workers)
    if size is None or size < LEAST_TILE:
        raise OptionError(f"tile must be a whole number from {LEAST_TILE}, got {tile!r}")
    if count is None or count < 1:
        raise OptionError(f"workers must be an integer of at least 1, got {workers!r}")
    place = Path(folder)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise OptionError(f"{folder} must be an empty folder, or not there yet")
    work = place / "work"
    work.mkdir(parents=True)
    if any(one.name == "threads" for one in chosen.info.options):
        options = {"threads": 1, **options}  # each worker keeps one core busy
    try:
        with ExitStack() as stack:
            if executor is None:
                executor = HereExecutor() if count == 1 else ProcessExecutor(count)
                stack.callback(executor.shutdown, wait=False, cancel_futures=True)
            found = mapped_points(points, work)
            job = _Tiles(found, place, Search(str(work), method, options), size)
            return job.run(Hands(executor, Monitor(None, on_progress)))
    except Stopped:
        return None
    finally:
        shutil.rmtree(work, ignore_errors=True)


class _Tiles:
    """A huge instance on its way through the steps."""

    def __init__(self, points: FloatArray, folder: Path, search: Search, size: int) -> None:
        self._folder, self._search = folder, search
        low, high = points.min(axis=0).astype(float), points.max(axis=0).astype(float)
        cells = cells_for(low, high, len(points))
        self._order, starts = hilbert_order(points, cells)
        self._tiling = Tiling(cells, starts, size)
        self._points = np.lib.format.open_memmap(
            Path(search.folder) / POINTS, mode="w+", dtype=np.float64, shape=(len(points), 2)
        )
        for first in range(0, len(points), 1 << 20):
            rows = self._order[first : first + (1 << 20)]
            self._points[first : first + (1 << 20)] = points[rows]
        self._points.flush()
        self._given = points

    def run(self, hands: Hands) -> PartedTree:
        """Run all steps and write the tree."""
        forest = self._spanning_tree(hands)
        spanning_length = float(self._lengths(forest).sum())
        tiles = self._tiling.tile_of(forest)
        inside = tiles[:, 0] == tiles[:, 1]
        crossing = forest[~inside]
        order = np.argsort(tiles[inside, 0], kind="stable")
        own = np.split(
            forest[inside][order],
            np.cumsum(np.bincount(tiles[inside, 0], minlength=len(self._tiling)))[:-1],
        )
        starts = self._tiling.point_start
        calls: list[Call] = [
            (solve_tile, (self._search, k, int(starts[k]), int(starts[k + 1]), own[k]))
            for k in range(len(self._tiling))
        ]
        hands.all("tiles", calls, len(calls))
        kept, added = self._seams(hands, forest[inside], crossing)
        return self._finish(kept, added, crossing, spanning_length)

    def _lengths(self, edges: IntArray) -> Any:
        return edge_lengths(self._points, np.empty((0, 2)), edges)

    # --- the spanning tree ------------------------------------------------------------------------

    def _spanning_tree(self, hands: Hands) -> IntArray:
        tiling = self._tiling
        starts = tiling.point_start
        calls: list[Call] = [
            (spanning_edges, (self._search, np.array([[starts[k], starts[k + 1]]])))
            for k in range(len(tiling))
        ]
        found = hands.all("spanning trees", calls, len(calls))
        width = STRIP_CELLS
        while True:
            strips = list(tiling.strips(width))
            calls = [(spanning_edges, (self._search, runs, starts)) for _, runs in strips]
            between = hands.all("strips", calls, len(calls))
            tree, longest = self._kruskal(np.concatenate(found + between))
            if tree is not None and longest <= width * tiling.cells.side:
                return tree
            if width >= 1 << tiling.cells.bits:
                assert tree is not None  # the strips hold everything
                return tree
            width *= 2

    def _kruskal(self, pairs: IntArray) -> tuple[IntArray | None, float]:
        """Return the spanning tree among candidates and its longest edge, or None without one."""
        from ...geometry.spanning_kernels import kruskal

        lengths = self._lengths(pairs)
        tree = np.empty((len(self._points) - 1, 2), dtype=np.int64)
        order = np.argsort(lengths, kind="stable")
        if kruskal(len(self._points), pairs, order, tree) < len(tree):
            return None, np.inf
        return tree, float(self._lengths(tree[-1:]).max(initial=0.0))

    # --- seams ------------------------------------------------------------------------------------

    def _seams(
        self, hands: Hands, forest: IntArray, crossing: IntArray
    ) -> tuple[list[Array], dict[int, Array]]:
        """Solve areas again; return what stays of each tile and of the crossing edges, and what
        is added from each area.
        """
        areas = areas_of(self._points, self._tiling, forest)
        if self._search.method == "mst":  # which is what was asked for
            areas[:] = -1
        folder, tiles = self._search.folder, range(len(self._tiling))
        lists = [terminals_in(tree_file(folder, k)) for k in tiles]
        lists.append((2 * np.arange(len(crossing) + 1), crossing.reshape(-1)))
        whole = Whole(len(self._points), lists, areas)
        del lists, areas
        numbers: list[int] = []

        def calls() -> Iterator[Call]:
            for number in range(len(whole.members)):
                area = whole.area(number, crossing)
                if area is not None:
                    numbers.append(number)
                    yield solve_area, (self._search, area)

        found = hands.all("seams", calls(), len(whole.members))
        repairs = list(zip(numbers, found, strict=True))
        gone, added = whole.accepted(repairs)
        new = {number: flags for (number, _), flags in zip(repairs, added, strict=True)}
        return whole.split(~gone), new

    # --- the end ----------------------------------------------------------------------------------

    def _finish(
        self,
        kept: list[Array],
        added: dict[int, Array],
        crossing: IntArray,
        spanning_length: float,
    ) -> PartedTree:
        """Write the parts, numbered as the user's points are, and check them."""
        folder = self._search.folder
        sources = [(tree_file(folder, k), kept[k]) for k in range(len(self._tiling))]
        sources += [(area_file(folder, k), flags) for k, flags in added.items() if flags.any()]
        steiner_count, length, number = 0, 0.0, 0
        for path, flags in sources:
            pieces = Pieces.load(path).kept(flags)
            if len(pieces.length):
                length += self._save(number, pieces.steiner, pieces.edges(len(self._points)))
                steiner_count += len(pieces.steiner)
                number += 1
        length += self._save(number, np.empty((0, 2)), crossing[kept[-1]])
        made = PartedTree(
            str(self._folder), len(self._points), steiner_count, number + 1, length,
            spanning_length, self._search.method,
        )  # fmt: skip
        check_parted(made, self._given)
        made.save()
        return made

    def _save(self, number: int, steiner: FloatArray, edges: IntArray) -> float:
        is_terminal = edges < len(self._points)
        named = edges.copy()
        named[is_terminal] = self._order[edges[is_terminal]]
        save_part(self._folder, number, steiner, named)
        return float(edge_lengths(self._points, steiner, edges).sum())
