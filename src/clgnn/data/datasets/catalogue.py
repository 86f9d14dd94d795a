"""What datasets there are: their files and checksums, their sources, and what is known of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from torch import Tensor

from clgnn.data.datasets import csl, embedded, facebook, friendster, planetoid, protein
from clgnn.data.datasets.errors import DatasetError
from clgnn.data.datasets.files import RawFile

FACEBOOK100 = "facebook100/johns_hopkins55"  # stands in for the paper's Facebook


@dataclass(frozen=True)
class Entry:
    """A dataset, and the numbers that it has when loaded without options.

    Attributes:
        name, about, source: what it is called, what it is, and where it comes from with the licence stated
            there.
        nodes, edges, features, classes, graphs: ``nodes`` and ``edges`` are those of all graphs together.
            Edges are undirected, without self-loops or duplicates; None if their number is not known.
        build: makes the graphs, from the tensors that ``parse`` read from the files if there are any.
        files: the raw files; none if the dataset is embedded.
    """

    name: str
    about: str
    source: str
    nodes: int
    edges: int | None
    features: int
    classes: int
    build: Callable[..., Any]
    graphs: int = 1
    files: tuple[RawFile, ...] = ()
    parse: Callable[[Mapping[str, Path]], dict[str, Tensor]] | None = None


def _planetoid(name: str, checksums: dict[str, str]) -> tuple[RawFile, ...]:
    return tuple(
        RawFile(
            f"planetoid/ind.{name}.{part}", f"kimiyoung/planetoid/master/data/ind.{name}.{part}", checksum
        )
        for part, checksum in checksums.items()
    )


_ENTRIES = (
    Entry(
        name="cora",
        about="papers and citations; words; research field",
        source="github.com/kimiyoung/planetoid (MIT)",
        nodes=2708,
        edges=5278,
        features=1433,
        classes=7,
        parse=planetoid.parse,
        build=planetoid.build,
        files=_planetoid(
            "cora",
            {
                "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
                "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
                "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
                "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
                "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
                "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
            },
        ),
    ),
    Entry(
        name="pubmed",
        about="papers and citations; words; kind of diabetes",
        source="github.com/kimiyoung/planetoid (MIT)",
        nodes=19717,
        edges=44324,
        features=500,
        classes=3,
        parse=planetoid.parse,
        build=planetoid.build,
        files=_planetoid(
            "pubmed",
            {
                "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
                "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
                "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
                "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
                "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
                "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
            },
        ),
    ),
    Entry(
        name="friendster",
        about="users and friendships; profiles; age group, known for 25006",
        source="github.com/PurdueMINDS/GNNsMiscalibrated (Apache-2.0)",
        nodes=43880,
        edges=145407,
        features=643,
        classes=5,
        parse=friendster.parse,
        build=friendster.build,
        files=(
            RawFile(
                "friendster/friendster_25K.h5",
                "PurdueMINDS/GNNsMiscalibrated/1e7cdb0d49a8213c91d5f7a3589209d1b5232b76/data/friendster_25K.h5",
                "f80ea0fd9ead167b35bbdc5e2cc524e874b8e6ddf3f05a816cee4b830a6f8daf",
            ),
        ),
    ),
    Entry(
        name="protein",
        about="parts of proteins and contacts; measurements; functional role",
        source="TUDataset PROTEINS_full, from github.com/bknyaz/graph_nn (ECL-2.0)",
        nodes=12679,
        edges=22763,
        features=29,
        classes=2,
        graphs=84,
        parse=protein.parse,
        build=protein.build,
        files=(
            RawFile(
                "proteins/PROTEINS_full.zip",
                "bknyaz/graph_nn/42424688d23f34f6b6e9b4c110f3381c02198312/data/PROTEINS_full.zip",
                "4f10e61e9b831ae3af8379bfd3559468f36119bf8d069cd5a9a5ad9a4ef9dd0d",
            ),
        ),
    ),
    Entry(
        name="facebook",
        about="students of Purdue and friendships; 3 attributes; political view",
        source="never published: your own fb.edgelist.npy, fb.labels.npy, fb.attrs.npy",
        nodes=4556,
        edges=None,
        features=3,
        classes=2,
        parse=facebook.parse,
        build=facebook.build,
        files=tuple(
            RawFile(
                f"facebook/fb.{part}.npy",
                advice=f"the paper's Facebook was never published: load {FACEBOOK100}, or ",
            )
            for part in ("edgelist", "labels", "attrs")
        ),
    ),
    Entry(
        name=FACEBOOK100,
        about="students and friendships; 6 attributes; gender, known for 4762",
        source="Traud et al. 2012, from github.com/CUAI/Non-Homophily-Large-Scale (no licence stated)",
        nodes=5180,
        edges=186586,
        features=2400,
        classes=2,
        parse=facebook.parse_school,
        build=facebook.build_school,
        files=(
            RawFile(
                "facebook100/Johns_Hopkins55.mat",
                "CUAI/Non-Homophily-Large-Scale/c2a1759aecd71d5604aa1a5a4719e3ffded18249/data/facebook100/"
                "Johns Hopkins55.mat",
                "fc7243bf257155df03afbc397ab34b5f8eb8e75f40cd1603398e207a033ef50f",
            ),
        ),
    ),
    Entry(
        name="csl",
        about="circular skip links, regular graphs; no features; skip length",
        source="github.com/PurdueMINDS/RelationalPooling (no licence stated)",
        nodes=6150,
        edges=12300,
        features=1,
        classes=10,
        graphs=150,
        parse=csl.parse,
        build=csl.build,
        files=(
            RawFile(
                "csl/graphs_Kary_Deterministic_Graphs.pkl",
                "PurdueMINDS/RelationalPooling/49092c9c4221c28bac0d4418b51b85afc416ef06/Synthetic_Data/"
                "graphs_Kary_Deterministic_Graphs.pkl",
                "356281ea02e70241ae462426025afa72d00f6645e82df836dc3f29ad69cf9461",
            ),
        ),
    ),
    Entry(
        name="digits",
        about="handwritten digits; linked by left, described by right halves; digit",
        source="embedded: scikit-learn's digits",
        nodes=1797,
        edges=6227,
        features=32,
        classes=10,
        build=embedded.digits,
    ),
    Entry(
        name="citations",
        about="synthetic papers and citations; words; topic",
        source="embedded: drawn from a seed",
        nodes=2000,
        edges=3942,
        features=1000,
        classes=5,
        build=embedded.citations,
    ),
)
CATALOGUE = {entry.name: entry for entry in _ENTRIES}


def find(name: str) -> Entry:
    """The dataset of that name; case does not matter.

    Raises:
        DatasetError: if there is none; the message names those that there are.

    Example:
        >>> find("Cora").nodes
        2708
        >>> find("coar")
        Traceback (most recent call last):
        clgnn.data.datasets.errors.DatasetError: ... expected one of ...: did you mean 'cora'?
    """
    if (entry := CATALOGUE.get(name.lower())) is not None:
        return entry
    near = get_close_matches(name.lower(), CATALOGUE, n=1, cutoff=0.5)
    hint = f": did you mean {near[0]!r}?" if near else ""
    raise DatasetError(f"there is no dataset {name!r}; expected one of {', '.join(CATALOGUE)}{hint}")
