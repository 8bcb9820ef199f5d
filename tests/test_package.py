"""The package as a whole: layers, import cost, kernel caches, and the wheel."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "deepsteiner"

# Lowest first; a module may import its own layer and those before it.
LAYERS = [
    ["core", "errors", "editable"],
    ["io", "viz", "datasets", "maps"],
    ["run"],
    ["geometry"],
    ["plane"],
    ["fst"],
    ["scoring"],
    ["policy"],
    ["solvers"],
    ["registry", "api", "batch", "refinement", "warmup", "fleet", "relays", "dragging", "edits"],
    ["benchmark"],
    ["cli", "server", "__main__"],
]
# Solution.save, plot, to_* and edits import what they need when called: the one exception.
EXCEPTIONS = {
    ("core/solution.py", "io"),
    ("core/exported.py", "io"),
    ("core/exported.py", "viz"),
    ("editable.py", "edits"),
}
HEAVY = ["torch", "matplotlib", "highspy", "fastapi", "numba", "scipy"]


def layer_of(name: str) -> int:
    for level, names in enumerate(LAYERS):
        if name in names:
            return level
    raise AssertionError(f"module {name!r} belongs to no layer of the design")


def imported(path: Path) -> set[str]:
    """Return the full names of what a module imports, wherever in it."""
    found: set[str] = set()
    own = path.relative_to(PACKAGE).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "deepsteiner." if node.level else ""
            prefix = list(own[: len(own) - node.level + 1]) if node.level else []
            module = ".".join([*prefix, *([node.module] if node.module else [])])
            names = [base + module] if module else [base + alias.name for alias in node.names]
        found.update(names)
    return found


def imported_parts(path: Path) -> set[str]:
    """Return the top-level parts of deepsteiner that a module imports."""
    names = imported(path)
    parts = {name.split(".")[1] for name in names if name.startswith("deepsteiner.")}
    return parts - {"__version__"}


def test_imports_only_point_down_the_layers():
    assert imported_parts(PACKAGE / "cli" / "commands" / "solve.py") > {"core"}  # something is seen
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE)
        if name == Path("__init__.py"):
            continue
        own = layer_of(name.parts[0].removesuffix(".py"))
        for part in imported_parts(path):
            if layer_of(part) > own and (name.as_posix(), part) not in EXCEPTIONS:
                wrong.append(f"{name} imports {part}")
    assert not wrong


def test_modules_stay_short():
    for path in PACKAGE.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 500, path


def test_folders_can_be_taken_in_at_a_glance():
    for folder in {path.parent for path in PACKAGE.rglob("*.py")}:
        modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(modules) <= 16, folder


def test_torch_lives_in_two_places():
    for path in PACKAGE.rglob("*.py"):
        parts = imported(path)
        if path.relative_to(PACKAGE).parts[0] not in (
            "policy",
            "scoring",
            "core",
        ):  # core: loads it
            assert not any(name.split(".")[0] == "torch" for name in parts), path


# Called by libraries that we are part of, or by users alone.
CALLED_FROM_OUTSIDE = {
    "_repr_svg_", "_reset", "_set_seed", "_step", "add_linking_library", "on_end", "on_start",
    "send_400_response", "SteinerEnv", "to_geojson", "to_networkx", "to_scipy_sparse", "to_shapely",
    "cache_path", "disable", "enable", "flush", "load_overload", "save_overload",
}  # fmt: skip
# What a decorator registers is called by whoever registered it.
REGISTERING = ("command", "callback", "get(", "post(", "exception_handler", "validator")


def test_every_function_is_used():
    """Each function, method and class is named in the package, a benchmark, an example, a build."""
    named: set[str] = set()
    defined: list[tuple[Path, str]] = []
    outside = ("benchmarks", "packages", "examples", "docs/_ext")
    others = [path for name in outside for path in (ROOT / name).rglob("*.py")]
    for path in [*PACKAGE.rglob("*.py"), *others]:
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Name(id=name) | ast.Attribute(attr=name):
                    named.add(name)
                case ast.alias(name=name):
                    named.add(name.split(".")[-1])
                case ast.Constant(value=str(name)):
                    # "module:name" names what is loaded when it is needed.
                    named.update((name, name.rpartition(":")[2]))
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    marks = " ".join(ast.unparse(one) for one in node.decorator_list)
                    if PACKAGE in path.parents and not any(word in marks for word in REGISTERING):
                        defined.append((path, node.name))
    assert len(defined) > 1000
    unused = [
        f"{path.relative_to(PACKAGE)}: {name}"
        for path, name in defined
        if name not in named | CALLED_FROM_OUTSIDE and not name.startswith("__")
    ]
    assert not unused


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    caches = ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR")
    without_caches = {key: value for key, value in os.environ.items() if key not in caches}
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**without_caches, **environment},
        check=False,
    )


def test_import_loads_nothing_heavy():
    code = (
        "import sys, deepsteiner; deepsteiner.methods(); deepsteiner.Solution; "
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    assert run(code).stdout.strip() == "[]"


def test_import_is_quick():
    """Half of the promised 0.3 s would be enough on a quiet machine; numpy is most of it."""
    code = (
        "import time, numpy; start = time.process_time(); import deepsteiner; "
        "print(time.process_time() - start)"
    )
    assert min(float(run(code).stdout) for _ in range(3)) < 0.15


def test_public_names():
    import deepsteiner

    for name in deepsteiner.__all__:
        assert getattr(deepsteiner, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        deepsteiner.nonsense  # noqa: B018


def test_nothing_private_is_offered():
    """Also after a solve, which imports submodules into the package's namespace."""
    code = (
        "import deepsteiner as ds; before = dir(ds); ds.solve([[0, 0], [1, 0], [0, 1]], 'mst'); "
        "ds.errors, ds.datasets, ds.refine; "
        "print(before == dir(ds) == sorted([*ds.__all__, '__version__']), 'solve' in dir(ds), "
        "[name for name in dir(ds.errors) if not name.endswith('Error')])"
    )
    done = run(code)
    assert done.stdout == "True True []\n", done.stderr


def copy_without_cache(target: Path) -> Path:
    shutil.copytree(PACKAGE, target / "deepsteiner", ignore=shutil.ignore_patterns("__pycache__"))
    (target / "deepsteiner" / "__pycache__").write_text("this keeps caches out, even for root")
    return target


# The length of a tree, and how many kernels had to be compiled for it.
SOLVE_TWICE = (
    "import deepsteiner as ds; length = ds.solve([[0, 0], [1, 0], [0, 1]], 'mst').length\n"
    "from deepsteiner.core.jit import history\n"
    "print(length, sum(one.state == 'compiled' and not one.inner for one in history))"
)


def test_kernels_are_cached_where_the_package_is_read_only(tmp_path):
    """They are then in the user's cache folder. The library says nothing about it."""
    package = copy_without_cache(tmp_path / "site")
    home = tmp_path / "home"
    home.mkdir()
    environment = {"PYTHONPATH": str(package), "HOME": str(home)}
    first, second = run(SOLVE_TWICE, **environment), run(SOLVE_TWICE, **environment)
    assert (first.stdout, second.stdout) == ("2.0 2\n", "2.0 0\n")
    assert first.stderr == second.stderr == ""
    assert list(home.rglob("*.kernel"))


def test_kernels_are_cached_where_there_is_no_home_either(tmp_path):
    package = copy_without_cache(tmp_path / "site")
    (tmp_path / "temporary").mkdir()
    environment = {
        "PYTHONPATH": str(package),
        "HOME": "/dev/null",
        "TMPDIR": str(tmp_path / "temporary"),
    }
    first, second = run(SOLVE_TWICE, **environment), run(SOLVE_TWICE, **environment)
    assert (first.stdout, first.stderr) == ("2.0 2\n", "")
    assert (second.stdout, second.stderr) == ("2.0 0\n", "")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*pip, "-w", str(folder), str(ROOT)], check=True)
    return next(folder.glob("*.whl"))


def test_wheel_works_in_a_bare_environment(wheel, tmp_path):
    """The wheel alone is installed; its dependencies are lent by this environment."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, str(wheel)], check=True)
    lent = [path for path in sys.path if path.endswith("site-packages")]
    site = subprocess.run(
        [str(python), "-c", "import site; print(site.getsitepackages()[0])"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    (Path(site) / "lent.pth").write_text("\n".join(lent))
    points = tmp_path / "points.csv"
    points.write_text("x,y\n0,0\n1,0\n0.5,1\n")
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(python.parent / "deepsteiner"), "solve", str(points), "-m", "mst", "--json"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=bare,
    )
    assert json.loads(done.stdout)["length"] == pytest.approx(2.118033988750)
    where = subprocess.run(
        [str(python), "-c", "import deepsteiner; print(deepsteiner.__file__)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=bare,
    )
    assert where.stdout.startswith(str(tmp_path))
    assert (Path(site) / "deepsteiner" / "py.typed").exists()


# --- what the wheels hold -------------------------------------------------------------------------


def models_in(path: Path) -> set[str]:
    with zipfile.ZipFile(path) as archive:
        found = [Path(name) for name in archive.namelist() if name.endswith("weights.safetensors")]
    return {path.parent.name for path in found}


def test_a_plain_wheel_has_every_model(wheel):
    from deepsteiner.core.models import shipped_models

    assert wheel.name.endswith("-py3-none-any.whl")
    assert models_in(wheel) == set(shipped_models())


def test_a_wheel_with_kernels_leaves_large_models_to_a_package_of_their_own(tmp_path, monkeypatch):
    from deepsteiner.core.models import EXTRA_PACKAGE, shipped_models

    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "some.kernels").write_text("code")
    monkeypatch.setenv("DEEPSTEINER_KERNELS", str(tmp_path / "kernels"))
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(tmp_path)]
    for folder in (ROOT, ROOT / "packages" / "deepsteiner-models"):
        subprocess.run([*pip, str(folder)], check=True)
    (core,) = tmp_path.glob("deepsteiner-*.whl")
    (extra,) = tmp_path.glob(f"{EXTRA_PACKAGE}-*.whl")
    assert models_in(core) == {"neural"}
    assert models_in(extra) == set(shipped_models()) - {"neural"}
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert f"-{python}-{python}-" in core.name
    with zipfile.ZipFile(core) as archive:
        assert archive.read("deepsteiner/prebuilt/some.kernels") == b"code"
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        lines = archive.read(metadata).decode().splitlines()
    assert "Requires-Dist: deepsteiner-models>=0.2; extra == 'learn'" in lines
    assert "Requires-Dist: numba>=0.60" in lines  # no cap: kernels that do not fit are compiled
    with zipfile.ZipFile(extra) as archive:
        assert f"{EXTRA_PACKAGE}/mst-d1/card.md" in archive.namelist()
