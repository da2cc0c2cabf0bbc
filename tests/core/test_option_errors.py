"""Messages about options never show the parser's own words."""

import re
from argparse import ArgumentError

import pytest

from commands import fails
from unirex.cli import build_parser
from unirex.cli.command import called_parser
from unirex.config import build_config, read_settings
from unirex.errors import UserError
from unirex.option_errors import plain_message

INTERNAL = re.compile(
    r"Parser key|<class|typing\.|Union|Subtypes|validate|class_path|Unable to load|NoneType"
)


@pytest.mark.parametrize("command", ["train", "evaluate", "explain"])
def test_a_wrong_value_of_any_option_is_said_in_plain_words(command):
    parser = called_parser(build_parser([command]), [command])
    options = [action.option_strings[0] for action in parser._actions if action.option_strings]
    refused = 0
    for option in (name for name in options if name not in ("-h", "--config", "--print_config")):
        try:
            parser.parse_args([option, "[1, {"])
        except ArgumentError as error:
            said, refused = plain_message(error, parser, [option]), refused + 1
            assert said.startswith(option) or "one argument too many" in said, said
            assert not INTERNAL.search(said), said
    assert refused > 10


SAID = {
    "--training.epochs ten": "--training.epochs ten: must be a whole number.",
    "--max-length 1.5": "--max_length 1.5: must be a whole number or null.",
    "--max-length 1e308": "--max_length 1e308: must be a whole number or null.",
    "--budgets 5,x": "--budgets 5,x: must be a list of numbers like [1, 5].",
    "--training.metric accurac": "; did you mean 'accuracy'?",
    "--on-error skop": "must be one of stop, skip, clip; did you mean 'stop'?",
    "--training {epochs:ten}": "--training",
    "--training x": "--training x: must be settings like {epochs: value}.",
    "--epoch 3": "unknown option '--epoch'; did you mean '--training.epochs'?",
    "--seed": "--seed: a value is missing; give a whole number.",
    "--resume=3": "--resume: takes no value; leave out '3'.",
    "reviews.csv": "'reviews.csv' is one argument too many",
}


@pytest.mark.parametrize("typed", SAID)
def test_what_is_said(capsys, typed):
    assert SAID[typed] in fails(capsys, "train", *typed.split())


def test_settings_of_files_and_of_python_are_said_in_the_same_words(capsys, tmp_path):
    (tmp_path / "c.yaml").write_text("training:\n  epochs: ten\n")
    said = fails(capsys, "train", "--config", tmp_path / "c.yaml")
    assert said.endswith("c.yaml: training.epochs ten: must be a whole number.")
    with pytest.raises(UserError, match=r"settings: training.epochs ten: must be a whole number"):
        build_config({"training": {"epochs": "ten"}})


def test_a_key_that_stands_twice_is_refused(tmp_path):
    (tmp_path / "c.yaml").write_text("rows:\n  A: vanilla\n  B: slm-p\n  A: slm-fp\n")
    with pytest.raises(UserError, match=r"c\.yaml: not valid YAML .*'A' stands twice.* line 4"):
        read_settings(tmp_path / "c.yaml")


def test_a_configuration_is_not_shared_with_the_next_of_the_same_settings():
    settings = {"extractor_options": {"steps": [3]}}
    build_config(settings).extractor_options["steps"].append(4)
    assert build_config(settings).extractor_options == settings["extractor_options"] == {"steps": [3]}
