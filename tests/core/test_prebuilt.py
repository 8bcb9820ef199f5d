"""Prebuilt kernels: used where everything fits, and never where anything differs."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deepsteiner.core import jit
from deepsteiner.core.compiled import prebuilt, sources
from deepsteiner.core.compiled.sources import PACKAGE

POINTS = "[[0, 0], [1, 0], [0, 1]]"
# The length of a tree, and what became of the kernels that Python called for it.
REPORT = (
    f"import deepsteiner as ds; length = ds.solve({POINTS}, 'mst').length\n"
    "from deepsteiner.core import jit\n"
    "print(length, *sorted({one.state for one in jit.history if not one.inner}))"
)
# Writes what the solve above compiled as prebuilt kernels.
BUILD = (
    f"{REPORT}\n"
    "import sys; from pathlib import Path\n"
    "from deepsteiner.core.compiled import files, prebuilt, sources\n"
    "codegen, found = jit.host_codegen(), []\n"
    "for one in (one for one in jit.history if not one.inner):\n"
    "    name = files.file_name(one.kernel, one.signature, jit.host(codegen))\n"
    "    stamp = jit.stamp_of(one.kernel.rpartition('.')[0], codegen)\n"
    "    code = files.read(jit.kernel_folder(), name, stamp)\n"
    "    found.append((one.kernel, one.signature, one.seconds, jit.bare(code)))\n"
    "target = {**jit.target(), 'features': jit.FEATURES.get(jit.build_level(), ())}\n"
    "path = prebuilt.FOLDER / 'test.kernels'\n"
    "prebuilt.write_file(path, target, sources.kernel_sources(), found)"
)
SAME, COMPILED = "2.0 prebuilt\n", "2.0 compiled\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of the package that has two kernels prebuilt."""
    site = tmp_path_factory.mktemp("built")
    shutil.copytree(PACKAGE, site / "deepsteiner", ignore=shutil.ignore_patterns("__pycache__"))
    done = run(BUILD, site, **jit.build_environment())
    assert done.stdout == COMPILED, done.stderr
    assert (site / "deepsteiner" / "prebuilt" / "test.kernels").is_file()
    return site


@pytest.fixture
def site(built: Path, tmp_path: Path) -> Path:
    """Return a copy of that folder that a test may spoil."""
    shutil.copytree(built, tmp_path / "site")
    return tmp_path / "site"


def run(code: str, site: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process whose cache is empty."""
    cache = site / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    given = {"PYTHONPATH": str(site), "NUMBA_CACHE_DIR": str(cache), **environment}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, capture_output=True, text=True, env={**kept, **given}, check=False, timeout=300
    )


def changed(path: Path, position: int, value: int = 0xFF) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= value
    path.write_bytes(content)


def test_they_are_used_and_nothing_is_written(built: Path) -> None:
    done = run(REPORT, built)
    assert (done.stdout, done.stderr) == (SAME, "")
    assert not (built / "cache").exists()


def test_they_are_used_wherever_the_package_lies_and_whatever_its_times_are(site: Path) -> None:
    moved = site.parent / "elsewhere"
    site.rename(moved)
    for path in moved.rglob("*.py"):
        os.utime(path, (0, 1e9))
    assert run(REPORT, moved).stdout == SAME


DIFFERENT = {
    "another numba": "import numba; numba.__version__ = '0.99.0'",
    "another llvmlite": "import llvmlite; llvmlite.__version__ = '0.99.0'",
    "another Python": "import sys; sys.implementation.cache_tag = 'cpython-399'",
    "another numpy": "import numba, numpy; numpy.__version__ = '9.0.0'",
    "another system": (
        "from deepsteiner.core import jit; known = jit.target\n"
        "jit.target = lambda: {**known(), 'platform': 'pdp11'}"
    ),
    "no AVX2": (
        "import llvmlite.binding as llvm; known = llvm.get_host_cpu_features()\n"
        "known['avx2'] = False; llvm.get_host_cpu_features = lambda: known"
    ),
}


@pytest.mark.heavy
@pytest.mark.parametrize("how", DIFFERENT)
def test_where_something_differs_kernels_are_compiled(built: Path, how: str) -> None:
    if how == "no AVX2" and not jit.FEATURES.get(jit.build_level()):
        pytest.skip("prebuilt kernels ask for no features of this kind of processor")
    done = run(f"{DIFFERENT[how]}\n{REPORT}", built)
    assert (done.stdout, done.stderr) == (COMPILED, "")


@pytest.mark.heavy
@pytest.mark.parametrize(
    "setting",
    [
        {"NUMBA_CPU_NAME": "generic"},
        {"NUMBA_OPT": "1"},
        {"NUMBA_BOUNDSCHECK": "1"},
        {"NUMBA_DEBUGINFO": "1"},
    ],
    ids=lambda setting: next(iter(setting)),
)
def test_what_a_user_asks_of_numba_counts_more(built: Path, setting: dict[str, str]) -> None:
    assert run(REPORT, built, **setting).stdout == COMPILED


@pytest.mark.heavy
def test_where_numba_has_changed_inside_its_own_cache_serves(site: Path) -> None:
    """Also where that has no place to write to."""
    code = (
        "import numba.core.codegen as codegen; del codegen.JITCodeLibrary\n"
        "from deepsteiner.core import jit; assert not jit.KNOWN\n"
        f"{REPORT}\nfrom deepsteiner.geometry.spanning_kernels import prim\n"
        "print(sum(prim.stats.cache_hits.values()))"
    )
    kept = str(site / "kept")
    assert run(code, site, NUMBA_CACHE_DIR=kept).stdout == "2.0\n0\n"
    assert run(code, site, NUMBA_CACHE_DIR=kept).stdout == "2.0\n1\n"
    nowhere = {"NUMBA_CACHE_DIR": "/dev/null", "NUMBA_CACHE_LOCATOR_CLASSES": "ZipCacheLocator"}
    assert run(code, site, **nowhere).stdout == "2.0\n0\n"


def test_kernels_can_be_left_uncompiled_altogether(built: Path) -> None:
    done = run(REPORT, built, NUMBA_DISABLE_JIT="1")
    assert (done.stdout, done.stderr) == ("2.0\n", "")


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["geometry/spanning_kernels.py", "fst/union_kernels.py"])
def test_changed_sources_are_noticed_wherever_they_are(site: Path, name: str) -> None:
    source = site / "deepsteiner" / name
    source.write_text(source.read_text() + "\n")
    assert run(REPORT, site).stdout == COMPILED
    source.unlink()
    code = REPORT if "union" in name else "print('2.0 compiled')"
    assert run(code, site).stdout == COMPILED


@pytest.mark.heavy
@pytest.mark.parametrize("left", [0, 10, 60, 4000, -100])
def test_a_truncated_file_is_not_used(site: Path, left: int) -> None:
    path = site / "deepsteiner" / "prebuilt" / "test.kernels"
    path.write_bytes(path.read_bytes()[:left])
    done = run(REPORT, site)
    # The last kernel in the file is damaged, the others are not.
    expected = COMPILED if left >= 0 else "2.0 compiled prebuilt\n"
    assert (done.stdout, done.stderr) == (expected, "")


@pytest.mark.heavy
@pytest.mark.parametrize("where", ["mark", "head", "code"])
def test_a_tampered_file_is_not_used(site: Path, where: str) -> None:
    path = site / "deepsteiner" / "prebuilt" / "test.kernels"
    kernels = prebuilt.open_file(path)
    assert kernels is not None
    begin = path.stat().st_size - sum(one.size for one in kernels.entries)
    middles = [begin + one.offset + one.size // 2 for one in kernels.entries]
    for position in {"mark": [3], "head": [300], "code": middles}[where]:
        changed(path, position)
    done = run(REPORT, site)
    assert (done.stdout, done.stderr) == (COMPILED, "")


@pytest.mark.heavy
def test_code_that_numba_cannot_read_is_compiled_and_then_cached(site: Path) -> None:
    """As where a numba of the same version was built differently."""
    path = site / "deepsteiner" / "prebuilt" / "test.kernels"
    kernels = prebuilt.open_file(path)
    assert kernels is not None
    found = [(one.kernel, one.signature, 0.0, b"no pickle") for one in kernels.entries]
    prebuilt.write_file(path, kernels.target, kernels.sources, found)
    assert run(REPORT, site).stdout == COMPILED
    again = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {REPORT!r}])\n{REPORT}"
    assert run(again, site).stdout == COMPILED + "2.0 cached\n"


def test_a_users_own_functions_are_compiled_and_cached_by_numba(site: Path) -> None:
    """Also those that call our kernels, after these were loaded without numba's registries."""
    (site / "own.py").write_text(
        "import numba, numpy as np\n"
        "from deepsteiner.geometry.spanning_kernels import prim\n"
        "@numba.njit(cache=True)\n"
        "def last(points):\n"
        "    edges = np.empty((len(points) - 1, 2), dtype=np.int64)\n"
        "    prim(points, edges)\n"
        "    return edges[-1, 1], np.sort(points[:, 0]).sum(), np.linalg.norm(points)\n"
    )
    code = (
        f"{REPORT}\nfrom own import last; import numpy as np\n"
        "print(last(np.array([[0.0, 0], [3, 0], [0, 4]])), *last.stats.cache_hits.values())"
    )
    kept = "NUMBA_CACHE_DIR"
    outputs = []
    for _ in range(2):
        done = run(code, site, **{kept: str(site / "kept")})
        outputs.append(done.stdout.splitlines())
        assert done.stderr == ""
    assert outputs[0][0] == outputs[1][0] == "2.0 prebuilt"
    assert outputs[0][1].endswith(")")
    assert outputs[1][1] == outputs[0][1] + " 1"


def test_every_kernel_file_is_part_of_the_stamp() -> None:
    known = sources.kernel_sources()
    assert {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*_kernels.py")} < set(
        known
    )
    assert "core/points.py" in known  # which kernels import
    assert "core/jit.py" not in known
    assert "cli/app.py" not in known


def test_sources_reach_as_far_as_imports_do() -> None:
    """Relative imports of every form that the package uses, from a kernel's module on."""
    for path in PACKAGE.rglob("*_kernels.py"):
        wanted = set()
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ImportFrom) and node.level:
                base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
                for one in [base, *(base / alias.name for alias in node.names)]:
                    if one.with_suffix(".py").is_file():
                        wanted.add(one.with_suffix(".py"))
        assert wanted - {PACKAGE / "core" / "jit.py"} <= set(sources.reached(path)), path
