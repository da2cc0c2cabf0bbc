"""`unirex doctor`: what this machine offers, what is missing, and what to do about it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from jsonargparse import ArgumentParser, Namespace

from unirex.printable import printable

MARKS = {"ok": "✓", "note": "·", "broken": "✗"}


def options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """What to look at beside the machine."""
    parser.add_argument("run", type=str, nargs="?", help="the folder of a run, to be looked at too")
    parser.add_argument("--encoder", type=str, default="minilm", help="minilm, a Hub id or a folder")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(options: Namespace) -> int:
    """Print the findings; exit code 1 if something that is needed is broken."""
    from unirex.doctor import BROKEN, as_json, examined

    findings = examined(options.run, options.encoder)
    if options.json:
        print(json.dumps(as_json(findings), indent=2, ensure_ascii=False))
    else:
        part, width = "", max(len(finding.name) for finding in findings)
        for finding in findings:
            if finding.part != part:
                part = finding.part
                print(part)
            print(printable(f"  {MARKS[finding.state]} {finding.name:<{width}}  {finding.said}"))
        broken = sum(finding.state == BROKEN for finding in findings)
        print(f"\n{broken or 'nothing'} broken" if broken != 1 else "\n1 thing is broken")
    return int(any(finding.state == BROKEN for finding in findings))
