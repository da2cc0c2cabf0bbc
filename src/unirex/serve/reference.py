"""The page at `/docs`: the API as OpenAPI describes it, in plain HTML from this server alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from unirex.report.markup import Html, element
from unirex.report.page import header, page

STYLE = "pre { overflow-x: auto; padding: 0.75rem; border: 1px solid; border-radius: 4px; }"


def reference(openapi: Mapping[str, Any]) -> str:
    """The whole page."""
    info = openapi["info"]
    body = [
        header("API", info["title"], f"Version {info['version']}; the same as JSON: openapi.json"),
        element("p", info.get("description", "")),
    ]
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            body.append(element("section", *_operation(openapi, method, path, operation)))
    return page(info["title"], body, style=STYLE)


def _operation(
    openapi: Mapping[str, Any], method: str, path: str, operation: Mapping[str, Any]
) -> Iterator[Html]:
    yield element("h2", f"{method.upper()} {path}")
    yield element("p", operation.get("description") or operation.get("summary", ""))
    for schema in _schemas(openapi, operation.get("requestBody", {})):
        yield from _fields(openapi, schema)
        for example in schema.get("examples", []):
            yield element("pre", element("code", json.dumps(example, ensure_ascii=False)))
    rows = [
        element("tr", element("td", status), element("td", response["description"]))
        for status, response in operation.get("responses", {}).items()
    ]
    yield element("table", element("tbody", *rows))
    for schema in _schemas(openapi, operation.get("responses", {}).get("200", {})):
        for example in schema.get("examples", []):
            yield element("pre", element("code", json.dumps(example, ensure_ascii=False, indent=1)))


def _schemas(openapi: Mapping[str, Any], part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schemas of a request or a response, in JSON."""
    for kind, content in part.get("content", {}).items():
        if kind == "application/json":
            yield _resolved(openapi, content.get("schema", {}))


def _resolved(openapi: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return openapi["components"]["schemas"][name] if name else schema


def _fields(openapi: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[Html]:
    rows = [
        element(
            "tr",
            element("td", element("code", name)),
            element("td", _kind(schema_of)),
            element("td", "required" if name in schema.get("required", ()) else "optional"),
            element("td", schema_of.get("description", "")),
        )
        for name, schema_of in schema.get("properties", {}).items()
    ]
    if rows:
        yield element("table", element("tbody", *rows))


def _kind(schema: Mapping[str, Any]) -> str:
    """A type in words.

    >>> _kind({"anyOf": [{"type": "number"}, {"const": "all"}, {"type": "null"}]})
    "number or 'all'"
    """
    if "anyOf" in schema:
        return " or ".join(_kind(part) for part in schema["anyOf"] if part.get("type") != "null")
    if "const" in schema:
        return repr(schema["const"])
    if "enum" in schema:
        return " or ".join(map(repr, schema["enum"]))
    if schema.get("type") == "array" and "items" in schema:
        return f"list of ({_kind(schema['items'])})"
    return str(schema.get("type") or schema.get("$ref", "").rpartition("/")[2] or "any")
