"""What makes a policy: its candidates and its network, and how it plays. Nothing here needs torch.

The first two are tables of a training configuration and sections of a model's description.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..core.errors import OptionError
from ..core.options import check_fields, option
from ..geometry.candidates import Extent
from .kit.registries import CANDIDATE_SETS, DECODERS, NETWORKS


@dataclass(frozen=True)
class CandidateSpec:
    """[candidates]: where Steiner points may lie; as in `geometry.candidates`."""

    kind: str = option("mst", "the arcs of which pairs, or a grid", choices=CANDIDATE_SETS)
    k_star: int = option(9, "interior points of an arc", minimum=1, maximum=1000)
    k_neighbors: int = option(3, "neighbours of a point, for knn", minimum=1, maximum=1000)
    grid: int = option(10, "points of one side of the grid", minimum=1, maximum=1000)
    extent: Extent = option("unit", "what the grid covers")

    def __post_init__(self) -> None:
        check_fields(self, "candidate")

    def number(self, size: int) -> int:
        """Return how many candidates `size` points have, at most."""
        return int(CANDIDATE_SETS[self.kind]().number(size, self))


@dataclass(frozen=True)
class PlayOptions:
    """How a trained policy solves an instance: the options of method `policy`."""

    model: str = option("relative", "a shipped model or the folder of one", models="policy")
    decode: Literal["greedy", "sample", "beam"] = option("greedy", "how the model gives points")
    samples: int = option(16, "trees to draw, the greedy one among them", minimum=1, maximum=10_000)
    beam: int = option(4, "trees to keep in the beam", minimum=1, maximum=100)
    augment: bool = option(False, "also try the seven other symmetric images of the instance")
    refine: bool = option(False, "relax the final tree and repair its angles")
    keep_worsening: bool = option(
        False,
        "keep the point that makes the tree longer (decode=greedy), as Algorithm 1 is printed",
    )
    normalize: bool = option(True, "map instances of other scales to the model's training box")
    precision: Literal["auto", "float32", "bfloat16"] = option(
        "auto", "of the network; auto is bfloat16 on CUDA and float32 elsewhere"
    )
    graphs: bool = option(
        False, "on CUDA, record greedy games of small batches: faster when sizes come again"
    )


@dataclass(frozen=True)
class NetworkConfig:
    """[network]: the policy's network; the defaults are the paper's."""

    kind: str = option("attention", "what the network is", choices=NETWORKS)
    layers: int = option(5, "encoder layers", minimum=1)
    dim: int = option(128, "width of an embedding", minimum=1)
    heads: int = option(8, "heads of an attention", minimum=1)
    ff: int = option(512, "width of a feed-forward layer", minimum=1)
    norm: Literal["batch", "layer"] = option("batch", "normalisation")
    inputs: Literal["raw", "edge"] = option("raw", "what a candidate is described by")
    decoder: str = option("paper", "the decoder as printed or as released", choices=DECODERS)

    def __post_init__(self) -> None:
        check_fields(self, "network")
        if self.dim % self.heads:
            raise OptionError(
                f"network.dim must be a multiple of network.heads, got {self.dim} and {self.heads}"
            )
