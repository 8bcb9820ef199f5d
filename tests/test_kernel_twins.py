"""Every compiled kernel has a twin: a test names it, or names a kernel that calls it.

CONTRIBUTING promises a slow, obvious twin for each kernel. What a twin is worth only a reader can
tell; that none is missing is read off the sources here.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src"
TESTS = sorted(Path(__file__).parent.rglob("test_*.py"))
KERNELS = {
    ".".join(path.relative_to(SOURCES).with_suffix("").parts): path
    for path in sorted((SOURCES / "deepsteiner").rglob("*_kernels.py"))
}
Kernel = tuple[str, str]  # module and function
# Tests whose twin is compared with what calls a kernel: a method, a batch, a whole module.
THROUGH = {
    "solvers/test_bereta.test_bereta_matches_the_published_curve": [
        "solvers.kernels.bereta_kernels.solve_batch"
    ],
    "solvers/test_classics.test_alone_and_in_a_batch_are_the_same": [
        "solvers.kernels.dreyer_insertion_kernels.insert_batch",
        "solvers.kernels.dreyer_kernels.grow_batch",
        "solvers.kernels.smith_kernels.solve_batch",
        "solvers.kernels.thompson_kernels.insert_batch",
    ],
    "solvers/test_classics.test_dreyer_insertion_against_dictionaries": [
        "solvers.kernels.dreyer_insertion_kernels.insert_along",
        "solvers.kernels.dreyer_insertion_kernels.longest_first",
    ],
    "solvers/test_classics.test_smith_against_its_rule_in_python": [
        "solvers.kernels.smith_kernels.list_trees",
        "solvers.kernels.smith_kernels.choose",
        "solvers.kernels.smith_kernels.concatenate",
    ],
    "solvers/test_local.test_a_batch_gives_the_trees_of_single_solves": [
        "fst.select.search.batch_kernels.solve_span",
    ],
    "solvers/test_contract.test_same_seed_same_tree_alone_or_in_company": [
        "solvers.kernels.greedy_kernels.solve_batch",
        "solvers.kernels.rand_kernels.rand2_batch",
    ],
    "solvers/test_neural.test_batch_and_single_agree": [
        "scoring.small_instance_kernels.solve_learned"
    ],
    "solvers/test_random_baselines.test_rand2_takes_candidates_until_the_tree_gets_longer": [
        "solvers.kernels.rand_kernels.random_step",
    ],
    "fst/enumerate/test_segments.test_trees_end_where_they_are_shortest": [
        "fst.enumerate.corners.segment_kernels.close_on_segments",
        "fst.enumerate.corners.segment_kernels.feet_of_nodes",
    ],
    "fst/enumerate/test_networks.test_no_tree_is_shorter": [
        "fst.enumerate.networks.branch_kernels.new_twigs",
        "fst.enumerate.networks.growth_kernels.grow",
        "fst.enumerate.networks.growth_kernels.close",
        "fst.enumerate.networks.growth_kernels.enter",
        "fst.enumerate.networks.growth_kernels.with_room",
        "fst.enumerate.networks.growth_kernels.draw",
        "fst.enumerate.networks.growth_kernels.new_drawn",
        "plane.contact_kernels.closest_places",
    ],
    "fst/enumerate/test_corners.test_what_is_dropped_is_not_needed": [
        "fst.enumerate.corners.branch_kernels.new_sprouts",
        "fst.enumerate.corners.branch_kernels.join",
        "fst.enumerate.corners.growth_kernels.close",
        "fst.enumerate.corners.growth_kernels.enter",
        "fst.enumerate.corners.growth_kernels.grow",
    ],
    "fst/enumerate/test_complete.test_threads_change_nothing": [
        "fst.enumerate.complete.growth_kernels.adopt"
    ],
    "fst/select/test_branch_and_cut.test_regions_improve_a_tree": [
        "fst.select.search.region_kernels.improve_around"
    ],
    "geometry/test_relaxation.test_batch_equals_one_by_one": [
        "geometry.refine_kernels.refine_trees"
    ],
    "geometry/test_relaxation.test_length_equals_an_independent_solver": [
        "geometry.relax_tree_kernels.relax_tree"
    ],
    "geometry/test_triangulation.test_adjacency_equals_scipys": [
        "geometry.triangulation_kernels.link"
    ],
}


@cache
def parsed(path: Path) -> ast.Module:
    """Return the tree of a file.

    Up to some 3.11 CPython miscounts its depth where the collector comes in between (its issue
    106905), and says so by a SystemError; a second try has nothing to collect.
    """
    text = path.read_text()
    try:
        return ast.parse(text)
    except SystemError:
        return ast.parse(text)


@cache
def compiled(module: str) -> dict[str, ast.AST]:
    """Return the functions of a module that a decorator compiles, and its intrinsics."""
    found: dict[str, ast.AST] = {}
    for node in parsed(KERNELS[module]).body:
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            found[node.name] = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Call):
            made = node.value.func
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(made, ast.Name) and made.id == "intrinsic":
                found[ast.unparse(target)] = node
    return found


def imported(tree: ast.AST, package: str = "") -> Iterator[tuple[str, str, str | None]]:
    """Yield (name here, module, name there or None for the module itself) of every import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")[: -(node.level - 1) or None] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                here, whole = alias.asname or alias.name, f"{module}.{alias.name}"
                yield (here, whole, None) if whole in KERNELS else (here, module, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name, alias.name, None


def used(tree: ast.AST, names: dict[str, Kernel], modules: dict[str, str]) -> set[Kernel]:
    """Return the kernels that some code mentions, by name or as an attribute of a module."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in names:
            found.add(names[node.id])
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id)
            if module is not None:
                found.add((module, node.attr))
    return found


@cache
def calls() -> dict[Kernel, set[Kernel]]:
    """Return which kernels each kernel mentions."""
    found: dict[Kernel, set[Kernel]] = {}
    for module, path in KERNELS.items():
        functions = compiled(module)
        names = {name: (module, name) for name in functions}
        package = module.rpartition(".")[0]
        for here, source, there in imported(parsed(path), package):
            if source in KERNELS and there is not None and there in compiled(source):
                names[here] = (source, there)
        for name, node in functions.items():
            found[module, name] = used(node, names, {}) - {(module, name)}
    return found


@cache
def named() -> set[Kernel]:
    """Return the kernels that tests mention, and those whose callers they compare."""
    found: set[Kernel] = set()
    for kernel in itertools.chain(*THROUGH.values()):
        module, _, name = kernel.rpartition(".")
        found.add((f"deepsteiner.{module}", name))
    for path in TESTS:
        tree = parsed(path)
        names: dict[str, Kernel] = {}
        modules: dict[str, str] = {}
        for here, source, there in imported(tree):
            if source in KERNELS:
                if there is None:
                    modules[here] = source
                else:
                    names[here] = (source, there)
        found |= used(tree, names, modules)
    return found


@cache
def reached() -> set[Kernel]:
    """Return what the kernels that tests mention call, directly or not, themselves included."""
    graph, found, stack = calls(), set(), list(named())
    while stack:
        kernel = stack.pop()
        if kernel in graph and kernel not in found:
            found.add(kernel)
            stack += graph[kernel]
    return found


def test_kernels_are_found():
    """So that what follows looks at something."""
    assert len(KERNELS) > 50
    assert all(compiled(module) for module in KERNELS)
    assert sum(len(compiled(module)) for module in KERNELS) > 350
    assert ("deepsteiner.fst.enumerate.complete.arc_kernels", "turn") in named()
    graph = calls()
    assert ("deepsteiner.geometry.spanning_kernels", "heaviest_between") in graph[
        "deepsteiner.fst.enumerate.nearby.neighbour_kernels", "bottleneck"
    ]


@pytest.mark.parametrize("module", KERNELS)
def test_some_test_names_kernels_of_every_module(module):
    names = {name for source, name in named() if source == module}
    assert names & set(compiled(module)), f"no test names a kernel of {module}"


@pytest.mark.parametrize("module", KERNELS)
def test_every_kernel_is_named_by_a_test_or_called_by_one_that_is(module):
    missing = set(compiled(module)) - {name for source, name in reached() if source == module}
    assert not missing


def test_callers_that_are_compared_are_there():
    for test, kernels in THROUGH.items():
        for kernel in kernels:
            module, _, name = kernel.rpartition(".")
            assert name in compiled(f"deepsteiner.{module}"), kernel
        module, _, name = test.rpartition(".")
        functions = parsed(Path(__file__).parent / f"{module}.py").body
        assert name in {getattr(node, "name", "") for node in functions}, test
