"""Packages with encoders and scorers: built and installed by pip, or only the metadata of an installed one."""

import subprocess
import sys
from pathlib import Path

from tests.contracts.documentation import PAGES, examples


def write_example(directory: Path, name: str = "methods", page: str = "encoders") -> Path:
    """Write the packages of a page of the manual, and return the directory of the one called `name`."""
    for example in examples(PAGES[page]):
        if example.kind == "file":
            path = directory / example.info.split()[1]
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(example.text)
    return directory / name


def install(package: Path, target: Path) -> Path:
    """Build the package in a directory and install it into `target`, without a network; return `target`."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    command = [*pip, "--no-deps", "--no-build-isolation", "--target", str(target), str(package)]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return target


def install_example(directory: Path) -> Path:
    """Write the page's example into a directory and install it into `installed` there; return the directory."""
    install(write_example(directory), directory / "installed")
    return directory


def own_tests(directory: Path) -> str:
    """Run the own tests of an installed example, and return what they print."""
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "--rootdir", ".")
    environment = {"PYTHONPATH": str(directory / "installed")}
    place = directory / "methods"
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def write_installed(
    directory: Path, package: str, entry_points: dict[str, str], group: str = "encoders", **modules: str
) -> Path:
    """Write an installed package, its entry points and its modules by name, and return `directory`."""
    information = directory / f"{package}-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in entry_points.items()]
    (information / "entry_points.txt").write_text("\n".join([f"[moverank.{group}]", *lines, ""]))
    for name, text in modules.items():
        (directory / f"{name}.py").write_text(text)
    return directory
