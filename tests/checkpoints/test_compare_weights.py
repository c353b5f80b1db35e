from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.checkpoints.head import Head
from presage.checkpoints.head_difference import head_difference


def weights(rng, layers=2, d=48):
    names = [f"bert.encoder.layer.{n}.attention.self.{one}.weight" for n in range(layers) for one in ("query", "key")]
    return {name: rng.standard_normal((d, d)) for name in names}


def test_the_change_is_that_of_the_product():
    rng = np.random.default_rng(0)
    old, new = rng.standard_normal((2, 2, 30, 5))
    found = head_difference(Head(0, 0, "self", *old), Head(0, 0, "self", *new), 3, rng)
    change = new[0] @ new[1].T - old[0] @ old[1].T
    assert found.singular_values == pytest.approx(np.linalg.svd(change, compute_uv=False)[:10])
    assert found.change == pytest.approx(np.linalg.norm(change) / np.linalg.norm(old[0] @ old[1].T))
    assert len(found.flips) == 3


def test_a_planted_change_is_found():
    """Noise on every weight is no structure; a direction on one head is found there and nowhere else."""
    rng = np.random.default_rng(1)
    before = weights(rng)
    after = {name: W + 0.02 * rng.standard_normal(W.shape) for name, W in before.items()}
    query = "bert.encoder.layer.1.attention.self.query.weight"
    after[query][24:] += 0.04 * np.outer(rng.standard_normal(24), rng.standard_normal(48))
    found = ps.compare_weights(before, after, flips=32, heads=2)
    verdicts = {(one.layer, one.head): one.verdict for one in found.every_head}
    assert verdicts[1, 1] == "structured change"
    assert sum(verdict == "structured change" for verdict in verdicts.values()) == 1
    assert found.heads.set_index(["layer", "head"]).loc[(1, 1), "at_least"] >= 1
    kinds = found.matrices.set_index("name")["verdict"]
    assert kinds[query] == "noise bulk + spikes"
    assert sum(kinds == "random") >= 2  # at a level of one in a hundred each, one may stand out
    assert "structured change" in found.summary


def test_what_did_not_change_is_said():
    rng = np.random.default_rng(2)
    before = weights(rng)
    after = {**before, "bert.encoder.layer.1.attention.self.key.weight": rng.standard_normal((48, 48))}
    found = ps.compare_weights(before, after, flips=0, heads=2)
    assert [one.verdict for one in found.every_head[:2]] == ["unchanged", "unchanged"]
    assert found.every_head[0].sentence == "the head is as it was."
    assert "it did not change" in set(found.skipped["reason"])
    assert found.as_dict()["counts"] == found.counts
