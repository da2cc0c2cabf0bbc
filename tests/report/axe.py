"""The accessibility of a page that a browser shows, by the rules of axe-core."""

from __future__ import annotations

import json
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from report.browser_driver import Browser

PACKAGE = "axe_core_python"  # used only for the script that it holds
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]

needs_axe = pytest.mark.skipif(find_spec(PACKAGE) is None, reason="axe-core-python is not installed")


def violations(browser: Browser, selector: str = "html") -> list[str]:
    """What axe finds wrong in the page as it is now: the rule, its advice, and where, a line each.

    Args:
        browser: shows the page.
        selector: the part of the page that is checked.
    """
    # From outside the page: its policy allows no script but its own.
    browser.run(files(PACKAGE).joinpath("axe.min.js").read_text("utf-8") + "; undefined")
    options = {"runOnly": {"type": "tag", "values": RULES}, "resultTypes": ["violations"]}
    found = browser.run(f"axe.run({json.dumps(selector)}, {json.dumps(options)}).then(r => r.violations)")
    return [
        f"{rule['id']}: {rule['help']} at {' '.join(map(str, node['target']))}"
        for rule in found
        for node in rule["nodes"]
    ]


def is_accessible(browser: Browser, selector: str = "html") -> None:
    """Assert that axe finds nothing wrong in the page, neither in the light nor in the dark."""
    for dark in (False, True):
        browser.media(dark=dark)
        assert violations(browser, selector) == [], "dark" if dark else "light"
    browser.media()
