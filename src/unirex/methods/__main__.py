"""One of the processes of `training.strategy spawn`: trains what its parent has put into a folder."""

from __future__ import annotations

import json
import os
import sys
import threading
from dataclasses import replace
from pathlib import Path

from unirex.data.store import read_splits
from unirex.errors import UserError
from unirex.files import write_file
from unirex.methods import fit
from unirex.methods.spawned import REQUEST, error_file


def main(folder: Path) -> int:
    """Train as one of the processes."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    request = json.loads((folder / REQUEST).read_text("utf-8"))
    data = replace(read_splits(folder), origin=request.pop("origin"))
    try:
        fit(request.pop("method"), data, **request)
    except UserError as error:
        write_file(error_file(folder, os.environ["LOCAL_RANK"]), str(error))
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
