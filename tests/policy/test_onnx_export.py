"""An exported policy gives torch's probabilities."""
# ruff: noqa: E402 - the modules under test need extras

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from deepsteiner.policy import checkpoint
from deepsteiner.policy.environment import Environment
from deepsteiner.policy.kit.onnx_export import INPUTS, export_onnx


@pytest.mark.parametrize("model", ["mst-d1", "grid-d1", "relative"])
def test_an_exported_policy_is_equal_to_torch_at_other_sizes(tmp_path, model):
    path = export_onnx(model, tmp_path / "policy.onnx")
    session = runtime.InferenceSession(str(path))
    policy, meta = checkpoint.load(model)
    rules = Environment(checkpoint.candidate_spec(meta))
    for batch, size in ((1, 3), (4, 10), (2, 17)):
        count = torch.full((batch,), size)
        count[-1] = max(3, size - 2)
        points = torch.rand((batch, size, 2), generator=torch.manual_seed(size))
        state = rules.reset(points, count)
        found = rules.candidates(state)
        with torch.inference_mode():
            expected = policy(state.points[:, :size], state.count, found).numpy()
        given = (state.points[:, :size], state.count, found.points, found.ends, found.mask)
        fed = {name: value.numpy() for name, value in zip(INPUTS, given, strict=True)}
        (log_probs,) = session.run(None, fed)
        mask = found.mask.numpy()
        assert (log_probs[~mask] == -np.inf).all()
        np.testing.assert_allclose(log_probs[mask], expected[mask], atol=1e-5, rtol=1e-5)
