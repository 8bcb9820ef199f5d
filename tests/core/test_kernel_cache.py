"""Where compiled kernels are kept, and what a damaged or planted cache can do: nothing."""

from __future__ import annotations

import importlib.util
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from deepsteiner.core import folders, jit
from deepsteiner.core.errors import DeepSteinerError
from deepsteiner.core.jit import PACKAGE, prepare_kernels

AS_ROOT = hasattr(os, "getuid") and os.getuid() == 0
SOLVE = "import deepsteiner as ds; print(ds.solve([[0, 0], [1, 0], [0, 1]], 'mst').length)"


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR")
    }
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**kept, **environment},
        check=False,
        timeout=300,
    )


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that is the system's temporary directory during the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


# --- whose folder ---------------------------------------------------------------------------------


def test_the_temporary_folder_is_shut_to_others_and_found_again(temporary: Path) -> None:
    before = os.umask(0)
    try:
        folder = folders.own_temporary_folder()
    finally:
        os.umask(before)
    assert folder == temporary / f"deepsteiner-{os.getuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folders.own_temporary_folder() == folder


def spoil(folder: Path, how: str) -> None:
    """Leave something that is not this user's own folder where that is expected."""
    if how == "a file":
        folder.write_text("")
    elif how == "a link":
        (folder.parent / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(folder.parent / "elsewhere")
    elif how == "a link to nothing":
        folder.symlink_to(folder.parent / "nowhere")
    elif how == "another user's":
        if not AS_ROOT:
            pytest.skip("only root can give a folder away")
        folder.mkdir(mode=0o700)
        os.chown(folder, 4711, 4711)
    else:
        folder.mkdir()
        folder.chmod({"open to all": 0o777, "open to a group": 0o770, "readable": 0o755}[how])


SPOILT = [
    "a file",
    "a link",
    "a link to nothing",
    "another user's",
    "open to all",
    "open to a group",
    "readable",
]


@pytest.mark.parametrize("how", SPOILT)
def test_a_folder_that_others_could_have_filled_is_not_used(temporary: Path, how: str) -> None:
    known = temporary / f"deepsteiner-{os.getuid()}"
    spoil(known, how)
    folder = folders.own_temporary_folder()
    assert folder != known
    assert folder.parent == temporary
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.stat().st_uid == os.getuid()


def test_a_fresh_folder_goes_with_the_process(tmp_path: Path) -> None:
    (tmp_path / f"deepsteiner-{os.getuid()}").write_text("in the way")
    code = (
        "import os; from deepsteiner.core.folders import own_temporary_folder\n"
        "folder = own_temporary_folder(); (folder / 'kernel').write_text('')\n"
        "child = os.fork()\n"
        "if not child: raise SystemExit\n"
        "os.waitpid(child, 0); print(folder.is_dir())"
    )
    assert run(code, TMPDIR=str(tmp_path)).stdout == "True\n"
    assert len(list(tmp_path.iterdir())) == 1


def test_nowhere_to_write_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", refuse)
    with pytest.raises(DeepSteinerError, match="set NUMBA_CACHE_DIR to one that can be written"):
        folders.own_temporary_folder()


@pytest.mark.parametrize("level", ["cache", "cache/numba"])
@pytest.mark.parametrize("how", ["another user's", "open to all"])
def test_a_user_cache_that_others_could_have_filled_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str, how: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert jit._user_cache_serves()
    shutil.rmtree(tmp_path / level)
    spoil(tmp_path / level, how)
    assert not jit._user_cache_serves()


def test_a_user_cache_may_be_a_link_of_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As people with small home folders have it; a group of one's own may write there, too."""
    (tmp_path / "large").mkdir(mode=0o770)
    (tmp_path / "cache").symlink_to(tmp_path / "large")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert jit._user_cache_serves()
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/to/wherever")
    assert not jit._user_cache_serves()


class Planted:
    """What an attacker pickles: loading it leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.mark,)


def test_planted_code_is_not_run(tmp_path: Path) -> None:
    """The control: it does run from a folder that only this user can have filled."""
    package = tmp_path / "site"
    shutil.copytree(PACKAGE, package / "deepsteiner", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package / "deepsteiner", *(package / "deepsteiner").rglob("*")]:
        if folder.is_dir():
            (folder / "__pycache__").write_text("a file here keeps caches out, even for root")
    (tmp_path / "temporary").mkdir()
    environment = {
        "PYTHONPATH": str(package),
        "HOME": "/dev/null",
        "TMPDIR": str(tmp_path / "temporary"),
    }
    assert run(SOLVE, **environment).stdout == "2.0\n"
    known = tmp_path / "temporary" / f"deepsteiner-{os.getuid()}"
    mark = tmp_path / "mark"
    indices = list(known.rglob("*.nbi"))
    assert indices
    for index in indices:
        index.write_bytes(pickle.dumps(Planted(mark)))
    assert run(SOLVE, **environment).stdout == "2.0\n"
    assert mark.exists()
    for index in indices:
        index.write_bytes(pickle.dumps(Planted(mark)))
    mark.unlink()
    known.chmod(0o777)
    done = run(SOLVE, **environment)
    assert (done.stdout, done.stderr) == ("2.0\n", "compiling kernels, once\n")
    assert not mark.exists()


# --- damaged files --------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path):
    """Return a maker of the cache files of one function, as this package or as numba has them."""
    prepare_kernels()
    from numba.core.caching import IndexDataCacheFile

    from deepsteiner.core.kernel_files import CheckedFile

    def make(checked: bool = True) -> IndexDataCacheFile:
        return (CheckedFile if checked else IndexDataCacheFile)(str(tmp_path), "kernel", "stamp")

    return make


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_changed_byte_or_a_missing_end_counts_as_absent(
    files, tmp_path: Path, suffix: str
) -> None:
    data = ("machine code", bytes(range(40)))
    files().save("key", data)
    (path,) = tmp_path.glob(f"*.{suffix}")
    whole = path.read_bytes()
    damaged = [whole[:length] for length in range(len(whole))]
    for position in range(len(whole)):
        changed = bytearray(whole)
        changed[position] ^= 1 << position % 8
        damaged.append(bytes(changed))
    lost = 0
    for content in damaged:
        path.write_bytes(content)
        found = files().load("key")
        assert found in (None, data)
        lost += found is None
    assert lost > len(whole)
    files().save("key", data)  # over the damaged one
    assert files().load("key") == data


def test_numba_reads_what_is_written_here_and_the_reverse(files) -> None:
    files().save("key", "ours")
    assert files(checked=False).load("key") == "ours"
    files(checked=False).save("key", "numba's")
    assert files().load("key") == "numba's"


def test_what_numba_wrote_alone_counts_as_absent_when_it_is_truncated(
    files, tmp_path: Path
) -> None:
    files(checked=False).save("key", list(range(100)))
    (path,) = tmp_path.glob("*.nbc")
    path.write_bytes(path.read_bytes()[:-3])
    assert files().load("key") is None


def test_a_solve_with_damaged_kernels_compiles_them_again(tmp_path: Path) -> None:
    environment = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert run(SOLVE, **environment).stdout == "2.0\n"
    data = sorted(tmp_path.rglob("*.nbc"))
    for path in data:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF  # somewhere in the machine code
        path.write_bytes(content)
    indices = sorted(tmp_path.rglob("*.nbi"))
    indices[0].write_bytes(indices[0].read_bytes()[:50])
    for expected in ("compiling kernels, once\n", ""):
        done = run(SOLVE, **environment)
        assert (done.returncode, done.stdout, done.stderr) == (0, "2.0\n", expected)


def test_a_full_disk_costs_the_cache_not_the_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare_kernels()
    from numba.core.caching import FunctionCache

    from deepsteiner.geometry.spanning_kernels import prim

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FunctionCache, "_save_overload", full)
    prim._cache.save_overload(None, None)


def test_a_users_own_cached_functions_are_left_to_numba(tmp_path: Path) -> None:
    prepare_kernels()
    from numba.core.caching import IndexDataCacheFile

    source = tmp_path / "own_code.py"
    source.write_text("import numba\n@numba.njit(cache=True)\ndef twice(x):\n    return 2 * x\n")
    spec = importlib.util.spec_from_file_location("own_code", source)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.twice(21) == 42
    assert type(module.twice._cache._cache_file) is IndexDataCacheFile
    (index,) = tmp_path.rglob("*.nbi")
    assert b"deepsteiner sha256" not in index.read_bytes()
    index.write_bytes(b"")
    with pytest.raises(EOFError):
        module.twice(0.5)
