"""`python -m campaign`: run the campaign, or repeat one case of it."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.update(HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", UNIREX_CACHE="off")

from campaign.runner import FAILED, KINDS, Campaign
from campaign.stock import import_everything


def main() -> int:
    """Print the table; exit code 1 if any case failed."""
    parser = argparse.ArgumentParser(prog="campaign", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("campaign"), help="folder; a campaign there goes on")
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--case", help="repeat one case, as kills-17, and nothing else")
    options = parser.parse_args()
    kind, _, number = (options.case or "readers-0").rpartition("-")
    if kind not in KINDS or not number.isdigit():
        parser.error(
            f"--case {options.case}: give a kind and a number, as kills-17; kinds: {', '.join(KINDS)}"
        )
    campaign = Campaign(options.out, options.seed, options.kinds)
    import_everything()
    campaign.prepare()
    if options.case:
        outcome = campaign.try_case(kind, int(number))
        print(outcome if outcome != FAILED else f"failed: see {options.out}/failures/{options.case}")
        return int(outcome == FAILED)
    try:
        campaign.run(options.hours)
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
    campaign.save()
    print(campaign.table())
    return int(campaign.failures() > 0)


sys.exit(main())
