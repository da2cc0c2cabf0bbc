"""A system whose process is killed in the middle of a shard, once."""

import os
import signal
from itertools import islice
from pathlib import Path

from unirex.system import System, load


class Deadly(System):
    """Kills its own process after 300 explanations, unless a file says that this has happened."""

    marker: Path

    def explain_all(self, texts, **options):
        found = super().explain_all(texts, **options)
        yield from islice(found, 300)
        if not self.marker.exists():
            self.marker.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        yield from found


def deadly(folder: Path, marker: Path) -> System:
    system = load(folder)
    made = Deadly(system.model, system.tokenizer)
    object.__setattr__(made, "marker", marker)
    return made
