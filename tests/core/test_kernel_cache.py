"""Where compiled kernels are kept, and what a damaged or planted cache can do: nothing."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from deepsteiner.core import folders, jit
from deepsteiner.core.compiled import files
from deepsteiner.core.compiled.sources import PACKAGE
from deepsteiner.core.errors import DeepSteinerError

AS_ROOT = hasattr(os, "getuid") and os.getuid() == 0
# What a small kernel returns, and how it was got.
UNITE = (
    "import numpy as np; from deepsteiner.core.tree_kernels import unite\n"
    "from deepsteiner.core.jit import history\n"
    "print(unite(np.arange(3), np.array([[0, 1]])), *[x.state for x in history if not x.inner])"
)
COMPILED, READY = "1 compiled\n", "1 cached\n"


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


@pytest.mark.parametrize("level", ["cache", "cache/deepsteiner", "cache/deepsteiner/kernels"])
@pytest.mark.parametrize("how", ["another user's", "open to all"])
def test_a_user_cache_that_others_could_have_filled_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str, how: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert files.user_cache_serves()
    shutil.rmtree(tmp_path / level)
    spoil(tmp_path / level, how)
    assert not files.user_cache_serves()


def test_a_user_cache_may_be_a_link_of_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As people with small home folders have it; a group of one's own may write there, too."""
    (tmp_path / "large").mkdir(mode=0o770)
    (tmp_path / "cache").symlink_to(tmp_path / "large")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert files.user_cache_serves()
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/to/wherever")
    assert not files.user_cache_serves()


class Planted:
    """What an attacker pickles: loading it leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.mark,)


def plant(path: Path, mark: Path) -> None:
    """Put other code into the file of a kernel, with everything else as it should be."""
    whole = path.read_bytes()[len(files.MARK) + 32 :]
    stamp, kernel, _ = whole.split(b"\n", 2)
    whole = b"\n".join((stamp, kernel, pickle.dumps(Planted(mark))))
    path.write_bytes(files.MARK + hashlib.sha256(whole).digest() + whole)


def test_planted_code_is_not_run(tmp_path: Path) -> None:
    """The control: it does run from a folder that only this user can have filled."""
    package = tmp_path / "site"
    shutil.copytree(PACKAGE, package / "deepsteiner", ignore=shutil.ignore_patterns("__pycache__"))
    (package / "deepsteiner" / "__pycache__").write_text("a file here keeps caches out")
    (tmp_path / "temporary").mkdir()
    environment = {
        "PYTHONPATH": str(package),
        "HOME": "/dev/null",
        "TMPDIR": str(tmp_path / "temporary"),
    }
    assert run(UNITE, **environment).stdout == COMPILED
    known = tmp_path / "temporary" / f"deepsteiner-{os.getuid()}"
    mark = tmp_path / "mark"
    kept = list(known.rglob("*.kernel"))
    assert kept
    for path in kept:
        plant(path, mark)
    assert run(UNITE, **environment).stdout == COMPILED
    assert mark.exists()
    for path in kept:
        plant(path, mark)
    mark.unlink()
    known.chmod(0o777)
    done = run(UNITE, **environment)
    assert (done.stdout, done.stderr) == (COMPILED, "")
    assert not mark.exists()


# --- one file a kernel ----------------------------------------------------------------------------


def test_a_changed_byte_or_a_missing_end_counts_as_absent(tmp_path: Path) -> None:
    data = bytes(range(40))
    files.write(tmp_path, "kernel", "stamp", "module.kernel", data)
    path = tmp_path / "kernel"
    whole = path.read_bytes()
    damaged = [whole[:length] for length in range(len(whole))]
    for position in range(len(whole)):
        changed = bytearray(whole)
        changed[position] ^= 1 << position % 8
        damaged.append(bytes(changed))
    for content in damaged:
        path.write_bytes(content)
        assert files.read(tmp_path, "kernel", "stamp") is None
    files.write(tmp_path, "kernel", "stamp", "module.kernel", data)  # over the damaged one
    assert files.read(tmp_path, "kernel", "stamp") == data


def test_another_stamp_counts_as_absent_and_is_written_over(tmp_path: Path) -> None:
    files.write(tmp_path, "kernel", "old", "module.kernel", b"old code")
    assert files.read(tmp_path, "kernel", "new") is None
    files.write(tmp_path, "kernel", "new", "module.kernel", b"new\ncode\n")
    assert files.read(tmp_path, "kernel", "new") == b"new\ncode\n"
    assert files.read(tmp_path, "kernel", "old") is None
    assert len(list(tmp_path.iterdir())) == 1


def test_files_say_what_they_hold(tmp_path: Path) -> None:
    files.write(tmp_path, "a.kernel", "stamp", "module.first", b"1")
    files.write(tmp_path, "b.kernel", "other", "module.second", b"2")
    (tmp_path / "c.kernel").write_bytes(b"what is this?")
    found = [("module.first", "stamp"), ("module.second", "other")]
    assert list(files.kept(tmp_path)) == found
    assert list(files.kept(tmp_path / "nowhere")) == list(files.kept(None)) == []


def test_a_full_disk_costs_the_cache_not_the_solve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    files.write(tmp_path, "kernel", "stamp", "module.kernel", b"code")
    assert list(tmp_path.iterdir()) == []
    files.write(None, "kernel", "stamp", "module.kernel", b"code")
    assert files.read(None, "kernel", "stamp") is None


def test_whoever_needs_a_kernel_that_another_compiles_waits_for_it(tmp_path: Path) -> None:
    first, second = files.Turn(), files.Turn()
    assert first.take(tmp_path / "cache", "kernel") is False
    code = (
        "import sys; from pathlib import Path; from deepsteiner.core.compiled.files import Turn\n"
        "print('begun', flush=True); print(Turn().take(Path(sys.argv[1]), 'kernel'))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "cache")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "begun\n"
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(0.5)
        first.end()
        assert other.stdout.read() == "True\n"
    assert second.take(tmp_path / "cache", "kernel") is False
    second.end()
    assert list((tmp_path / "cache").iterdir()) == []
    assert second.take(None, "kernel") is False


def test_who_waited_and_found_a_kernel_compiled_keeps_nobody_waiting(tmp_path, monkeypatch) -> None:
    """The turn ends although nothing is compiled: this process may do nothing more for hours."""
    turn, found = files.Turn(), iter([None, None, "code"])
    cache = jit.KernelCache(test_who_waited_and_found_a_kernel_compiled_keeps_nobody_waiting)
    taking = turn.take
    monkeypatch.setattr(turn, "take", lambda folder, name: taking(folder, name) or True)
    monkeypatch.setattr(jit, "_turn", turn)
    monkeypatch.setattr(jit.KernelCache, "_loaded", lambda *_: next(found))
    monkeypatch.setattr(jit.KernelCache, "_place", lambda *_: (tmp_path, "kernel"))
    context = SimpleNamespace(codegen=lambda: None)
    assert cache.load_overload(None, context) == "code"
    assert files.Turn().take(tmp_path, "kernel") is False


def test_nobody_waits_for_ever(tmp_path, monkeypatch) -> None:
    """Whoever compiles may have been suspended."""
    monkeypatch.setattr(files, "LONGEST_WAIT", 0.1)
    first, second = files.Turn(), files.Turn()
    assert first.take(tmp_path, "kernel") is False
    assert second.take(tmp_path, "kernel") is True
    second.end()
    assert (tmp_path / "kernel.lock").exists()  # it is the first one's
    first.end()


def test_a_solve_with_damaged_kernels_compiles_them_again(tmp_path: Path) -> None:
    environment = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert run(UNITE, **environment).stdout == COMPILED
    for path in tmp_path.rglob("*.kernel"):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF  # somewhere in the machine code
        path.write_bytes(content)
    for expected in (COMPILED, READY):
        done = run(UNITE, **environment)
        assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")


def test_a_kernel_is_compiled_anew_when_one_that_it_calls_has_changed(tmp_path: Path) -> None:
    """In another file, at which numba's own cache would not look."""
    package = tmp_path / "site"
    shutil.copytree(PACKAGE, package / "deepsteiner", ignore=shutil.ignore_patterns("__pycache__"))
    environment = {"PYTHONPATH": str(package), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    states = [run(UNITE, **environment).stdout for _ in range(2)]
    assert states == [COMPILED, READY]
    source = package / "deepsteiner" / "core" / "points.py"  # which the kernel's module imports
    source.write_text(source.read_text() + "\nNEW = 1\n")
    assert run(UNITE, **environment).stdout == COMPILED


def test_a_users_own_cached_functions_are_left_to_numba(tmp_path: Path) -> None:
    from numba.core.caching import FunctionCache, IndexDataCacheFile

    import deepsteiner.core.jit

    assert deepsteiner.core.jit.KernelCache is not FunctionCache
    source = tmp_path / "own_code.py"
    source.write_text("import numba\n@numba.njit(cache=True)\ndef twice(x):\n    return 2 * x\n")
    spec = importlib.util.spec_from_file_location("own_code", source)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.twice(21) == 42
    assert type(module.twice._cache) is FunctionCache
    assert type(module.twice._cache._cache_file) is IndexDataCacheFile
    (index,) = tmp_path.rglob("*.nbi")
    index.write_bytes(b"")
    with pytest.raises(EOFError):
        module.twice(0.5)
