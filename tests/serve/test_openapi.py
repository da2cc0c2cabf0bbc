"""Requests that the OpenAPI description allows, and some that it does not, get the answers it describes.

More of them, by hand: `UNIREX_REQUESTS=300 python -m pytest tests/serve/test_openapi.py`.
"""

import os

import pytest

import tiny

schemathesis = pytest.importorskip("schemathesis")

KEY = "a-key-of-some-length"
EXAMPLES = int(os.environ.get("UNIREX_REQUESTS", "8"))  # to each route


def test_every_route_answers_as_it_is_described(served_systems, listening):
    from hypothesis import HealthCheck, given, settings

    from unirex.serve.examples import Examples
    from unirex.serve.settings import Settings

    bounded = settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    systems = {name: served_systems[name] for name in ("slm", "choices")}
    examples = Examples("tiny, test", tiny.examples())
    with listening(systems, Settings(api_key=KEY), dataset=examples) as (address, server, _):
        schema = schemathesis.openapi.from_dict(server.config.app.openapi())
        schema.config.update(base_url=address)
        routes = [result.ok() for result in schema.get_all_operations()]
        assert {route.path for route in routes} >= {"/explain", "/examples/{number}", "/info"}
        for route in routes:
            bounded(given(case=route.as_strategy())(validated))()


def validated(case):
    """Ask, and compare the answer with the description."""
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    # A description cannot say which texts, labels and names there are: these are refused with 422.
    key = {"Authorization": f"Bearer {KEY}"}
    case.call_and_validate(headers=key, excluded_checks=[positive_data_acceptance])
