"""Options that commands share: their agreement with `SearchOptions`, settings, and `--wait` without a number."""

from dataclasses import fields
from typing import Any

import pytest
import typer.main

from moverank.cli import app
from moverank.indexer.commands.shared_options import SettingChoices, chosen_settings, with_wait_limit
from moverank.indexer.values.search_options import SearchOptions

NOT_OPTIONS = {"explained", "most_characters", "stop"}  # --explain; a limit of servers; a function of the library


@pytest.mark.parametrize("command", ["search", "similar"])
def test_every_search_option_is_an_option_of_the_command_with_the_same_default(command: str) -> None:
    group: Any = typer.main.get_command(app)
    defaults = {parameter.name: parameter.default for parameter in group.commands[command].params}
    expected = {field.name: field.default for field in fields(SearchOptions) if field.name not in NOT_OPTIONS}
    assert {name: defaults[name] for name in expected} == expected
    assert "explain" in defaults


@pytest.mark.parametrize(
    ("arguments", "completed"),
    [
        (["refit", "--wait"], ["refit", "--wait", "inf"]),
        (["refit", "--wait", "2.5"], ["refit", "--wait", "2.5"]),
        (["refit", "--wait", "--json"], ["refit", "--wait", "inf", "--json"]),
        (["refit", "--wait=3"], ["refit", "--wait=3"]),
        (["info"], ["info"]),
    ],
)
def test_wait_without_a_number_has_no_limit(arguments: list[str], completed: list[str]) -> None:
    assert with_wait_limit(arguments) == completed


def test_options_of_a_setting_add_up_and_a_hyphen_is_an_underscore() -> None:
    given = ["train_options=dim=5,seed=1", "title-weight=2", "train_options=min_count=1", "title-weight=4"]
    assert chosen_settings(given) == {"train_options": ("dim=5", "seed=1", "min_count=1"), "title_weight": 4}


def test_a_new_first_stage_discards_the_options_of_the_old_one() -> None:
    assert SettingChoices(first_stage="lsi").chosen() == {"first_stage": "lsi", "first_stage_options": ()}
    both = SettingChoices(first_stage="lsi", setting=["first_stage_options=dim=2"]).chosen()
    assert both == {"first_stage": "lsi", "first_stage_options": ("dim=2",)}
