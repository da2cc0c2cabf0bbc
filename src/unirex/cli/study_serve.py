"""`unirex study serve`: the people of a study answer in their browsers."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jsonargparse import ArgumentParser, Namespace

from unirex.cli.shared import server_options
from unirex.files import say
from unirex.serve import check_installed
from unirex.serve.settings import KEY, Settings, is_loopback

if TYPE_CHECKING:
    from unirex.user_study.study import UserStudy


def options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """Which study, where, and the owner's key."""
    add = parser.add_argument
    add("folder", type=str, help="of the study")
    add("--url", type=str, help="address that people use, if a proxy or another name stands in front")
    server_options(parser, key=f"of the owner's pages; better in {KEY} (default: a new one, printed)")


def run(options: Namespace) -> int:
    """Ask the people of a study in their browsers until stopped."""
    check_installed()
    from unirex.serve.running import check_port, reachable, run_app
    from unirex.serve.study import create_study_app
    from unirex.user_study.study import UserStudy

    check_port(options.port)
    given = options.api_key or os.environ.get(KEY) or None
    made = secrets.token_urlsafe(24) if given is None and is_loopback(options.host) else None
    settings = Settings(host=options.host, api_key=given or made)
    study = UserStudy.open(options.folder)
    app = create_study_app(study, settings, url=options.url)

    def announce(address: str) -> None:
        _print_links(study, (options.url or reachable(address)).rstrip("/"), made)

    return run_app(app, settings, options.port, announce=announce)


def _print_links(study: UserStudy, address: str, key: str | None) -> None:
    """The link of each person, and the owner's; a key that the owner chose is not repeated."""
    codes = study.codes()
    print("Links to hand out, one per person:")
    for person in study.annotators():
        if person.number in codes:
            done = f"{person.answered} of {person.questions} answered"
            print(f"  {person.name}  {address}/#{codes[person.number]}  {done}")
    if key is None:
        print(f"Progress and report: {address}/owner, with your key")
    else:
        print(f"Progress and report, for you alone: {address}/owner#{key}")
    print(f"Or, at any time: unirex study report {study.folder}", flush=True)
    say("Ctrl-C stops; answers are kept, and the same command goes on.")
