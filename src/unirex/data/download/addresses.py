"""Addresses of the public datasets, with checksums and sizes as far as they are published.

The checksums are those that catalogues (TensorFlow Datasets, the scripts of Hugging Face Datasets) publish
for these addresses, and for TweetEval's `mapping.txt` those of the files in its repository. A file without
one is trusted on first use: see `unirex.data.download`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file on a server, and what identifies it."""

    url: str
    sha256: str | None = None  # None: not published, or the server does not promise the same bytes
    size: int | None = None  # bytes

    @property
    def name(self) -> str:
        """The file's name, whose ending says how it is packed.

        >>> RemoteFile("https://example.org/data/trees.zip?raw=1").name
        'trees.zip'
        """
        return PurePosixPath(urlsplit(self.url).path).name


@dataclass(frozen=True, slots=True)
class Address:
    """Where a dataset comes from and where it goes.

    Args:
        folder: where it goes below the data root; the readers' files stand directly in it.
        files: what is fetched and unpacked together.
        holds: names of files and folders by which the dataset's folder inside an archive is recognised.
        licence: one line for the user.
    """

    folder: str
    files: tuple[RemoteFile, ...]
    holds: tuple[str, ...]
    licence: str

    @property
    def urls(self) -> tuple[str, ...]:
        """The address of every file."""
        return tuple(file.url for file in self.files)

    @property
    def size(self) -> int | None:
        """Bytes to fetch, if the size of every file is known."""
        sizes = [file.size for file in self.files if file.size is not None]
        return sum(sizes) if len(sizes) == len(self.files) else None


def _eraser(name: str, licence: str, sha256: str | None = None, size: int | None = None) -> Address:
    file = RemoteFile(f"https://www.eraserbenchmark.com/zipped/{name}.tar.gz", sha256, size)
    return Address(name, (file,), ("train.jsonl", "val.jsonl", "test.jsonl"), licence)


def _polarity(name: str, licence: str, sha256: str, size: int) -> Address:
    file = RemoteFile(f"https://s3.amazonaws.com/fast-ai-nlp/{name}_review_polarity_csv.tgz", sha256, size)
    return Address(name, (file,), ("train.csv", "test.csv"), licence)


def _tweeteval(task: str, known: dict[str, tuple[int, str]]) -> Address:
    place = f"https://raw.githubusercontent.com/cardiffnlp/tweeteval/main/datasets/{task}"
    files = tuple(RemoteFile(f"{place}/{name}.txt", sha256, size) for name, (size, sha256) in known.items())
    licence = "no restrictions by TweetEval; those of Twitter and of the SemEval task may apply"
    return Address(f"tweeteval/{task}", files, tuple(f"{name}.txt" for name in known), licence)


_NONE_STATED = "no licence stated; research use"
_HATEXPLAIN = "https://raw.githubusercontent.com/hate-alert/HateXplain/master/Data"
_TOXIC_SPANS = "https://raw.githubusercontent.com/ipavlopoulos/toxic_spans/master/SemEval2021/data"
_TSD_FILES = ("tsd_train.csv", "tsd_trial.csv", "tsd_test.csv")

ADDRESSES: dict[str, Address] = {
    "sst": Address(
        "sst",
        (
            RemoteFile(
                "https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip",
                "5c613a4f673fc74097d523a2c83f38e0cc462984d847b82c7aaf36b01cbbbfcc",
                789_539,
            ),
        ),
        ("train.txt", "dev.txt", "test.txt"),
        _NONE_STATED,
    ),
    "movies": _eraser(
        "movies",
        _NONE_STATED,
        "66e18d4e6c9df9e9f5544572b0bfe92a39673f74ecbfc3859b46cedb2f5b2dee",
        3_899_487,
    ),
    "cose": _eraser("cose", "BSD 3-Clause (CoS-E)"),
    "multirc": _eraser(
        "multirc",
        _NONE_STATED,
        "7d3364fad630d0949b40cc5c4b9fd7fac0ec9ebb3a31ffa92a491e3883edd826",
        1_667_550,
    ),
    "esnli": _eraser("esnli", "MIT (e-SNLI), on texts under CC BY-SA 4.0 (SNLI)"),
    "hatexplain": Address(
        "hatexplain",
        (
            RemoteFile(
                f"{_HATEXPLAIN}/dataset.json",
                "63bb3340fee0ec469b09690d04cb68f7c187787dd8b83807f071892c084967fb",
                12_256_170,
            ),
            RemoteFile(
                f"{_HATEXPLAIN}/post_id_divisions.json",
                "c2fb0d89862e7897b11ea3e9380753f15a793482b4b70ad0532dfb1212212835",
                591_921,
            ),
        ),
        ("dataset.json", "post_id_divisions.json"),
        "MIT (its repository), CC BY 4.0 (its dataset card)",
    ),
    "toxic-spans": Address(
        "toxic-spans",
        tuple(RemoteFile(f"{_TOXIC_SPANS}/{name}") for name in _TSD_FILES),
        _TSD_FILES,
        "MIT (its repository), on texts under CC0 (Civil Comments)",
    ),
    "yelp": _polarity(
        "yelp",
        "terms of the Yelp Dataset Challenge 2015: academic, non-commercial use",
        "528f22e286cad085948acbc3bea7e58188416546b0e364d0ae4ca0ce666abe35",
        166_373_201,
    ),
    "amazon": _polarity(
        "amazon",
        _NONE_STATED,
        "d2a3ee7a214497a5d1b8eaed7c8d7ba2737de00ada3b0ec46243983efa100361",
        688_339_454,
    ),
    "stormfront": Address(
        "stormfront",
        # GitHub packs this on request and does not promise the same bytes twice: no checksum is possible.
        (RemoteFile("https://github.com/Vicomtech/hate-speech-dataset/archive/refs/heads/master.zip"),),
        ("annotations_metadata.csv", "all_files"),
        "CC BY-SA 3.0 ES",
    ),
    "offenseval": _tweeteval(
        "offensive",
        {
            "train_text": (1_529_074, "78a7a32e38b10af7d8970b008bf17f661c8d0a90dad145fa0fa6a944669650db"),
            "train_labels": (23_832, "c0b7d6ebdaa4ebcf6fc557ef1e775d92eda160218a0e3b1dd48eb8234dc892a6"),
            "val_text": (179_188, "816f36d180c35f15a5104838cb73856a0bef42043482fe738f3481b06242a55c"),
            "val_labels": (2_648, "ed2deb776bd1c52fb8221fadd3360e32d9dfe46842d78053528126e46363a258"),
            "test_text": (126_921, "25b08c3333c26190f1023961c4508ec9aab24d4722b1a3ea7a6040724c120547"),
            "test_labels": (1_720, "41d05a7aa0b01f5dafab21b95adb4f979cb4226c046ff315702774d10dac1605"),
            "mapping": (28, "3e427f483dd5d5be21ae85dcf224c36b3d024af27999939fa0d438d695801c50"),
        },
    ),
    "irony": _tweeteval(
        "irony",
        {
            "train_text": (231_594, "a888125a44f7dfaa25b026318748d0e62cc9a300d20f66eafd62011a19eaea23"),
            "train_labels": (5_724, "fc69e6106c0f1f433a91536e08f83c71a391d7b219f7684d42f243a8089af77d"),
            "val_text": (76_760, "8806cf3793e300a485cfae34892fc3a0a2f9a183deb06c750c6531515c83051e"),
            "val_labels": (1_910, "ccf429f63b4e8d0e7f425ca09445f7c31f7cea8a1b7c283b015b117c4002fd07"),
            "test_text": (68_057, "53103da934a7308eee82f05f2a9781a8ea3e88604fdc1e02d3101108505c64be"),
            "test_labels": (1_568, "08e2095e1725e74907a380614c220204e356bb46e3e8c93deb74e83e5b15ab38"),
            "mapping": (19, "70e09046e181179b9870a2f59a3263bbb28c787831779e4ce4a18373d054296b"),
        },
    ),
}
