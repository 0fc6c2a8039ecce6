"""What is built is what is there, and it works away from the checkout."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {name: f"moverank/{name}" for name in ("rerank", "indexer", "migrations")}


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command that has to work, away from any other Python's settings."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_"))}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy, so that the checkout stays clean."""
    place = tmp_path_factory.mktemp("build")
    ignored = shutil.ignore_patterns(".*", "*.egg-info", "build", "dist", "__pycache__", "moverank-demo")
    shutil.copytree(ROOT, place / "source", ignore=ignored)
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    run(*pip, "--wheel-dir", place / "dist", place / "source", cwd=place)
    (built,) = (place / "dist").glob("*.whl")
    return built


def test_the_wheel_holds_every_module(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    wanted = {"cli.py"}
    for folder, package in PACKAGES.items():
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in (".py", ".jsonl", ".mako") or file.name == "py.typed":
                wanted.add(f"{package}/{file.relative_to(ROOT / folder).as_posix()}")
    assert held == wanted


def test_a_fresh_install_runs_the_demo_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, cwd=tmp_path)
    place = run(python, "-c", "import moverank; print(moverank.__file__)", cwd=tmp_path)
    assert place.startswith(str(tmp_path))
    shown = run(tmp_path / "venv" / "bin" / "moverank", "demo", cwd=tmp_path)
    assert shown.count("$ moverank ") >= 6
    assert "Certified" in shown
