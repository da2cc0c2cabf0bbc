"""A command in a process of its own: its seconds, its processor time and the most memory it held.

Run as a script this file is the observer between the two: on Linux the peak memory told for a child is at
least that of the process it was forked from, so that must be a small one.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process took."""

    seconds: float = 0.0
    cpu: float = 0.0
    peak_mb: float = 0.0
    code: int = 0
    said: str = ""  # the end of what it printed


def run(*arguments: str) -> Usage:
    """Run `python ARGUMENTS…` and tell what it took; a failure is an error that quotes its last line."""
    command = [sys.executable, __file__, sys.executable, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as observer:
        try:
            out = observer.communicate()[0]
        except BaseException:  # Ctrl-C: the observer takes the command with it
            observer.terminate()
            raise
    usage = Usage(**json.loads(out or '{"code": -1, "said": "no measurement"}'))
    if usage.code:
        last = (usage.said.strip().splitlines() or ["no output"])[-1]
        raise RuntimeError(f"python {arguments[0]} … ended with code {usage.code}: {last}")
    return usage


def observe(command: Sequence[str]) -> Usage:
    """The usage of a command that runs as a child of this process."""
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        try:
            said = "" if child.stdout is None else child.stdout.read()[-2000:]
            _, status, used = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            raise
        seconds = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
    cpu = used.ru_utime + used.ru_stime
    return Usage(seconds, cpu, used.ru_maxrss * unit / 1e6, child.returncode, said)


def main() -> int:
    """Observe the command on the command line and print what it took."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        print(json.dumps(asdict(observe(sys.argv[1:]))))
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
