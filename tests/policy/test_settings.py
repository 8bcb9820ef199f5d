"""What makes a policy: its candidates and its network, and one sentence for each bad value."""

from __future__ import annotations

import pytest

from deepsteiner.core.errors import OptionError
from deepsteiner.policy.settings import CandidateSpec, NetworkConfig

BAD_SPECS = [
    ({"kind": "star"}, "kind must be one of mst, knn, all, grid, got 'star'"),
    ({"k_star": 1001}, "k_star must be at most 1000, got 1001"),
    ({"extent": "world"}, "extent must be one of box, unit, got 'world'"),
    ({"k_star": 0}, "k_star must be at least 1, got 0"),
    ({"grid": 2.5}, "grid must be int, got 2.5"),
    ({"k_neighbors": True}, "k_neighbors must be int, got True"),
]


@pytest.mark.parametrize(("fields", "message"), BAD_SPECS)
def test_bad_specs_are_refused(fields, message):
    with pytest.raises(OptionError, match=message):
        CandidateSpec(**fields)


BAD_CONFIGS = [
    ({"layers": 0}, "layers must be at least 1, got 0"),
    ({"dim": 100}, r"network\.dim must be a multiple of network\.heads, got 100 and 8"),
    ({"norm": "none"}, "norm must be one of batch, layer, got 'none'"),
    ({"inputs": 3}, "inputs must be str, got 3"),
    ({"decoder": "x"}, "decoder must be one of paper, released, got 'x'"),
    ({"ff": True}, "ff must be int, got True"),
]


@pytest.mark.parametrize(("fields", "message"), BAD_CONFIGS)
def test_bad_configurations_are_refused(fields, message):
    with pytest.raises(OptionError, match=message):
        NetworkConfig(**fields)
