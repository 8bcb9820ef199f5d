"""Check workflows, issue forms and Dependabot's file: schemas, security, make targets.

    make lint-workflows

actionlint looks at them as well where it can be had; it is a program that its package downloads.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GITHUB = ROOT / ".github"


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
    actionlint = shutil.which("actionlint", path=str(Path(sys.executable).parent)) or shutil.which(
        "actionlint"
    )
    if actionlint:
        commands.append([actionlint, *workflows])
    else:
        print("actionlint is not here: schemas, zizmor and make targets only")
    failed = [command for command in commands if subprocess.run(command, check=False).returncode]
    unknown = missing_targets(workflows)
    for name in unknown:
        print(f"a workflow runs make {name}, which the Makefile does not have")
    return int(bool(failed or unknown))


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
