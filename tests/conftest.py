"""Fixtures shared by all tests: tiny encoders in folders, built once a session."""

import gc
import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ["UNIREX_CACHE"] = "off"  # tests leave nothing behind; those of the cache say where it is

import pytest
from hypothesis import settings

gc.disable()  # while tests are collected: that takes a fifth less, as nothing that is imported is garbage
settings.register_profile("unirex", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("unirex")


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def encoders(tmp_path_factory):
    """`encoders("bert")` is the folder of a tiny encoder of that family."""
    import tiny

    root, made = tmp_path_factory.mktemp("encoders"), {}

    def folder(family: str):
        if family not in made:
            made[family] = tiny.save_encoder(root / family, family)
        return made[family]

    return folder


@pytest.fixture(scope="session")
def learner(tmp_path_factory):
    """The folder of a tiny encoder that can learn the planted corpus."""
    import planted

    return planted.save_learner(tmp_path_factory.mktemp("learner"))


@pytest.fixture(scope="session")
def shallow_learner(tmp_path_factory):
    """A learner of one layer, which trains in three quarters of the time."""
    import planted

    return planted.save_learner(tmp_path_factory.mktemp("shallow-learner"), layers=1)


@pytest.fixture(scope="session")
def classifier(learner):
    """A classifier that learnt the planted corpus and nothing about explaining."""
    import planted
    import unirex

    training = {"epochs": 8, "learning_rate": 4e-3, "batch_size": 16, "patience": 8}
    settings = {"encoder": str(learner), "pooling": "mean", "training": training, "progress": False}
    return unirex.fit("vanilla", planted.planted(), **settings)
