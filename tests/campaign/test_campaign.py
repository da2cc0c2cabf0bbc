"""The short form of the campaign: a few cases of every kind."""

import os

import pytest
import torch

from campaign.runner import FAILED, Campaign
from campaign.stock import import_everything

CASES = {"readers": 20, "settings": 5, "models": 12, "texts": 2, "weights": 2, "kills": 2} | {
    "sharing": 1,
    "full_disk": 2,
    "processes": 1,
}


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    # Threads of this process would be missing in those that are forked from it.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    import_everything()
    made = Campaign(tmp_path_factory.mktemp("campaign"), seed=0, kinds=list(CASES))
    made.prepare()
    yield made
    torch.set_num_threads(threads)


@pytest.mark.parametrize("kind", CASES)
def test_no_case_fails(campaign, kind):
    for _ in range(CASES[kind]):
        campaign.try_next(kind)
    said = [path.read_text() for path in campaign.folder.glob(f"failures/{kind}-*/said.txt")]
    assert FAILED not in campaign.tally[kind], "\n".join(said)
    assert campaign.tried(kind) == CASES[kind] and f"| {kind} | {CASES[kind]} | 0 |" in campaign.table()
