"""Every method has a page that tells the truth: its sections, options, defaults and published figures."""

import re
import shlex
from inspect import signature
from pathlib import Path

import pytest
import yaml

from unirex.cli import known_options
from unirex.config import plain
from unirex.extractors import EXTRACTORS
from unirex.methods import method_names, resolve
from unirex.paper.published import performance_metric, published_row, results

PAGES = Path(__file__).resolve().parents[1] / "docs" / "methods"
SECTIONS = ["Paper", "What it does", "How it differs", "Settings", "Command", "Results", "When to use it"]
BESIDE = {
    "differentiable-selection": "dlm-fp"
}  # pages about a setting, and the method whose defaults they give
NAMED = [*method_names(), *BESIDE]
PLAIN_OPTIONS = ("extractor_options", "teacher_options", "saliency_options")  # tables of any keys
FIGURES = ("comprehensiveness", "sufficiency", "auprc", "token_f1_macro2", performance_metric("sst"))


def page(name):
    return (PAGES / f"{name}.md").read_text("utf-8")


def section(name, title):
    return page(name).split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(text, first):
    """The cells of the tables whose first columns are headed so."""
    for table in re.findall(r"(?:^\|.*\n?)+", text, flags=re.MULTILINE):
        head, _, *body = table.strip().splitlines()
        if head.startswith(f"| {first} |"):
            yield from ([cell.strip() for cell in line.strip("| ").split(" | ")] for line in body)


def commands(text):
    """The calls of `unirex` in the code blocks, as arguments."""
    for block in re.findall(r"^```\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("unirex "):
                yield shlex.split(line, comments=True)[1:]


def table_of(option):
    """The option itself, or the one that holds its table: `extractor_options` of `extractor_options.head`."""
    return re.sub(rf"({'|'.join(PLAIN_OPTIONS)})\..*", r"\1", option)


def default(config, setting):
    """What a setting is if nobody says anything, as a plain value."""
    value, extractor, given = config, config["extractor"], config["extractor_options"]
    key = setting.removeprefix("extractor_options.")
    if key != setting:
        return given.get(key, signature(EXTRACTORS[extractor]).parameters[key].default)
    for part in setting.split("."):
        value = value[part]
    return value


@pytest.fixture(scope="module")
def options():
    return {name: set(known_options([name])) for name in ("train", "evaluate", "explain", "compare", "nrg")}


@pytest.mark.parametrize("name", NAMED)
def test_a_page_has_its_sections_in_their_order(name):
    assert re.findall(r"^## (.*)$", page(name), flags=re.MULTILINE) == SECTIONS
    assert all(section(name, title).strip() for title in SECTIONS)


@pytest.mark.parametrize("name", [*NAMED, "README", "attributions"])
def test_every_option_in_a_command_exists(name, options):
    found = list(commands(page(name)))
    assert found
    for command, *arguments in found:
        given = [one[2:].partition("=")[0] for one in arguments if one.startswith("--")]
        assert {table_of(one) for one in given} <= options[command], arguments


@pytest.mark.parametrize("name", [*NAMED, "README"])
def test_every_option_in_the_text_exists(name, options):
    known = set().union(*options.values())
    assert {table_of(one) for one in re.findall(r"--([a-z0-9][\w.]*\w)", page(name))} <= known


@pytest.mark.parametrize("name", method_names())
def test_a_page_trains_evaluates_and_explains_its_method(name):
    found = list(commands(section(name, "Command")))
    out = f"runs/sst-{name}"
    train = ["train", "--method", name, "--data", "sst", "--out", out, "--seed", "0"]
    assert found[:2] == [train, ["evaluate", out, "--data", "sst"]]
    assert found[2][:2] == ["explain", out]


@pytest.mark.parametrize("name", NAMED)
def test_settings_are_real_and_have_these_defaults(name, options):
    config = plain(resolve(BESIDE.get(name, name), None, {}))
    found = list(rows(section(name, "Settings"), "setting | default"))
    assert found
    for setting, given, meaning in found:
        setting = setting.strip("`")
        assert table_of(setting) in options["train"] and meaning
        assert yaml.safe_load(given.strip("`")) == default(config, setting), setting


@pytest.mark.parametrize("name", method_names())
def test_published_figures_are_those_of_the_paper(name):
    found = {one[0]: one[1:] for one in rows(section(name, "Results"), "paper's row")}
    own = published_row("sst", name)
    assert (own is None and not found) or (own is not None and own.method in found)
    for method, cells in found.items():
        metrics = results("sst")[method].metrics
        printed = [value for metric in FIGURES for value in metrics[metric]]
        shown = [float(value) for cell in cells for value in cell.split(" ± ")]
        scale = [1] * 4 + [100] * 6
        assert shown == pytest.approx([one * by for one, by in zip(printed, scale, strict=True)], abs=1e-6)


def test_the_index_lists_every_method():
    listed = [re.match(r"\[(.*)\]\((.*)\)", one[0]).groups() for one in rows(page("README"), "method")]
    assert listed == [(name, f"{name}.md") for name in method_names()]


@pytest.mark.parametrize("name", [*NAMED, "README"])
def test_links_between_pages_lead_somewhere(name):
    for target, place in re.findall(r"\]\(([^)#]*\.md)(?:#([^)]*))?\)", page(name)):
        if target.startswith("../results/"):  # written by whoever has run everything
            continue
        text = (PAGES / target).read_text("utf-8")
        heads = {anchor(one) for one in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)}
        assert not place or place in heads, (target, place)


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
