"""Build the wheels: deepsteiner with prebuilt kernels for this Python and platform, and its models.

    make wheel                                    both wheels, into dist/
    python packages/build_wheels.py --kernels     the kernels alone, into build/kernels/

Kernels are compiled by the calls of `deepsteiner.warmup`, for every processor of this kind, into a
scratch cache. Those that Python calls go into the wheel, for all signatures that came up; what is
only part of another kernel stays out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / "build" / "kernels"


def build_kernels(target: Path) -> None:
    """Compile all kernels and write them to a file, unless it holds them already."""
    from deepsteiner.core import jit
    from deepsteiner.core.compiled import files, prebuilt, sources
    from deepsteiner.core.compiled.entries import entry_kernels

    known, made_for = prebuilt.open_file(target), {**jit.target(), "callers": callers()}
    if (
        known is not None
        and known.sources == sources.kernel_sources()
        and not prebuilt.misfit(known, made_for, jit.can_run)
    ):
        print(f"{target.name} is up to date")
        return
    began = time.perf_counter()
    entries, seconds = set(entry_kernels()), {}
    for event in warmed():
        # What is compiled or loaded as part of another kernel is in that one's code.
        if event.kernel in entries and not event.inner:
            key, compiled = (event.kernel, event.signature), event.state == "compiled"
            seconds[key] = event.seconds if compiled else seconds.get(key, 0.0)
    for kernel in sorted(entries - {kernel for kernel, _ in seconds}):
        print(f"no call reaches {kernel}")
    codegen = jit.host_codegen()
    found = []
    for kernel, signature in seconds:
        name = files.file_name(kernel, signature, jit.host(codegen))
        stamp = jit.stamp_of(kernel.rpartition(".")[0], codegen)
        code = files.read(jit.kernel_folder(), name, stamp)
        if code is None:
            raise SystemExit(f"{kernel}({signature}) was compiled and cannot be kept")
        took = round(seconds[kernel, signature], 2)
        found.append((kernel, signature, took, jit.bare(code)))
    made_for["features"] = jit.FEATURES.get(jit.build_level(), ())
    prebuilt.write_file(target, made_for, sources.kernel_sources(), found)
    size = target.stat().st_size / 2**20
    print(f"{len(found)} kernels, {size:.1f} MiB, in {time.perf_counter() - began:.0f} s")


def callers() -> str:
    """Return a digest of the code that calls kernels, and so decides on their signatures."""
    from deepsteiner.core.compiled.sources import PACKAGE, digest, total

    apart = {PACKAGE / name for name in ("benchmark", "cli", "server", "viz", "core")}
    paths = [path for path in PACKAGE.rglob("*.py") if not apart & set(path.parents)]
    return total({str(path.relative_to(PACKAGE)): digest(path) for path in paths})


def warmed() -> list[Any]:
    from deepsteiner import warmup
    from deepsteiner.run.threads import cores

    def told(done: int, total: int, name: str) -> None:
        if done % 50 == 0 or done == total:
            print(f"{done} of {total} calls ({name})", flush=True)

    return list(warmup.run(warmup.known_methods([]), cores(), told))


def build_wheel(folder: Path, **environment: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(ROOT / "dist"), folder]
    subprocess.run(command, check=True, env={**kept, **environment}, stdout=subprocess.DEVNULL)


def main() -> None:
    from deepsteiner.core import jit

    level = jit.build_level()
    if os.environ.get("NUMBA_CPU_NAME") != level:  # numba reads it when it is imported
        with tempfile.TemporaryDirectory() as scratch:
            made = {**jit.build_environment(), "NUMBA_CACHE_DIR": scratch}
            command = [sys.executable, *sys.argv]
            sys.exit(subprocess.run(command, env={**os.environ, **made}, check=False).returncode)
    target = jit.target()
    name = f"{target['python']}-numba-{target['numba']}-{level}.kernels"
    if KERNELS.is_dir() and not (KERNELS / name).is_file():
        shutil.rmtree(KERNELS)  # of another Python or numba
    build_kernels(KERNELS / name)
    if "--kernels" not in sys.argv:
        build_wheel(ROOT, DEEPSTEINER_KERNELS=str(KERNELS))
        build_wheel(ROOT / "packages" / "deepsteiner-models")
        for path in sorted((ROOT / "dist").glob("*.whl")):
            print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
