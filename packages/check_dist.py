"""Check what `make dist` built: metadata, contents, and a first tree from the files alone.

    python packages/check_dist.py [--only-files]

The packages it depends on are downloaded once into build/wheelhouse; the bare environment then
installs without any index.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST, HOUSE = ROOT / "dist", ROOT / "build" / "wheelhouse"
FIRST_TREE = """
import deepsteiner as ds, sys
from deepsteiner.core.jit import history
tree = ds.solve([[0, 0], [4, 0], [4, 3], [0, 3], [2, 1]])
assert (tree.status, round(tree.length, 6)) == ("optimal", 9.250363), tree
assert ds.__file__.startswith(sys.prefix), ds.__file__
compiled = [one.kernel for one in history if one.state == "compiled"]
assert not compiled, f"not among the kernels of the wheel: {compiled}"
print(f"deepsteiner {ds.__version__} on Python {sys.version.split()[0]}: {tree}")
"""


def newest(pattern: str) -> Path:
    """Return the newest file of that kind, or say that there is none."""
    found = sorted(DIST.glob(pattern), key=lambda path: path.stat().st_mtime)
    if not found:
        sys.exit(f"error: dist/ has no {pattern}; run make dist")
    return found[-1]


def check_source(path: Path) -> None:
    """Ask that the source distribution holds what the README links to, and nothing git does not."""
    with tarfile.open(path) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    linked = re.findall(r"\]\(([^)#:]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    wanted = {*linked, "Makefile", "tests/conftest.py", "packages/build_wheels.py", "docs/conf.py"}
    missing = [
        one for one in wanted if not any(name == one or name.startswith(f"{one}/") for name in held)
    ]
    if missing:
        sys.exit(f"error: {path.name} lacks {', '.join(sorted(missing))}")
    made = sorted(held - tracked() - {"PKG-INFO"}) if (ROOT / ".git").exists() else []
    if made:
        sys.exit(f"error: {path.name} holds {len(made)} files that git does not, such as {made[0]}")
    print(f"{path.name} holds what the README links to, {len(held)} files")


def tracked() -> set[str]:
    """Return the files that git holds."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True)
    return set(listed.stdout.decode().splitlines())


def check_installed(wheel: Path) -> None:
    """Install the wheel in a bare environment, without an index, and solve a first tree."""
    HOUSE.mkdir(parents=True, exist_ok=True)
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    run([*fetch, "--dest", str(HOUSE), "--only-binary", ":all:", str(wheel)])
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        scripts = Path(folder) / ("Scripts" if os.name == "nt" else "bin")
        python = scripts / ("python.exe" if os.name == "nt" else "python")
        clean = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("PYTHON", "NUMBA", "PIP"))
        }
        offline = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
        places = ["--find-links", str(DIST), "--find-links", str(HOUSE)]
        run(
            [str(python), *offline, *places, f"deepsteiner=={version_of(wheel)}"],
            cwd=folder,
            env=clean,
        )
        run([str(python), "-W", "error", "-c", FIRST_TREE], cwd=folder, env=clean)


def version_of(wheel: Path) -> str:
    return wheel.name.split("-")[1]


def run(command: list[str], **more: object) -> None:
    done = subprocess.run(command, check=False, **more)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"error: {' '.join(command[:6])} ... ended with {done.returncode}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only-files", action="store_true", help="install nothing")
    given = parser.parse_args()
    source, wheel, models = (
        newest(one)
        for one in ("deepsteiner-*.tar.gz", "deepsteiner-*.whl", "deepsteiner_models-*.whl")
    )
    run([sys.executable, "-m", "twine", "check", "--strict", str(source), str(wheel), str(models)])
    check_source(source)
    if not given.only_files:
        check_installed(wheel)


if __name__ == "__main__":
    main()
