from __future__ import annotations

import dataclasses
import sys
import zipfile

import numpy as np
import pytest

import presage as ps
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.open_checkpoint import open_checkpoint
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


def test_layers_are_paired_by_their_place():
    """A layer that one file lacks is said once, and takes no other with it."""
    rng = np.random.default_rng(3)
    before = weights(rng, layers=4)
    changed = {name: W + 0.02 * rng.standard_normal(W.shape) for name, W in before.items()}
    after = {name: W for name, W in changed.items() if ".layer.1." not in name}
    for one, other, side in ((before, after, "before"), (after, before, "after")):
        found = ps.compare_weights(one, other, flips=0, heads=2)
        assert [(row.layer, row.head) for row in found.every_head] == [(n, i) for n in (0, 2, 3) for i in range(2)]
        there = [row for row in found.left_out if row.name == "layer 1"]
        assert [row.reason for row in there] == [
            f"its attention is in the weights {side} only, or is readable there only"
        ]
        lost = [row for row in found.left_out if row.name.startswith("bert.encoder.layer.1.")]
        assert len(lost) == 2
        assert {row.reason for row in lost} == {
            "the weights after have none of this name"
            if side == "before"
            else "the weights before have none of this name"
        }
    pairs = {
        (row.layer, row.head): row.change for row in ps.compare_weights(before, after, flips=0, heads=2).every_head
    }
    whole = ps.compare_weights(before, changed, flips=0, heads=2)
    assert pairs == {(row.layer, row.head): row.change for row in whole.every_head if row.layer != 1}


def test_attentions_of_two_kinds_at_a_layer_are_told_apart():
    rng = np.random.default_rng(9)
    names = [
        f"model.{part}.layers.0.{one}.{factor}_proj.weight"
        for part, one in (("encoder", "self_attn"), ("decoder", "self_attn"), ("decoder", "encoder_attn"))
        for factor in "qk"
    ]
    before = {name: rng.standard_normal((48, 48)) for name in names}
    after = {name: W * 1.5 if "encoder_attn" in name else W for name, W in before.items()}
    found = ps.compare_weights(before, dict(reversed(after.items())), flips=0, heads=2)
    assert len(found.every_head) == 6
    assert {row.name for row in found.every_head if row.verdict != "unchanged"} == {
        "decoder layer 0 head 0 (cross)",
        "decoder layer 0 head 1 (cross)",
    }


def test_attention_that_is_not_cut_is_said():
    """What only one of the files has is said of that file, what both have is said once."""
    rng = np.random.default_rng(4)
    before = {**weights(rng), "model.layers.0.linear_attn.in_proj.weight": np.ones((30, 30))}
    both = ps.compare_weights(before, before, flips=0, heads=2)
    said = [row.reason for row in both.left_out if row.name == "model.layers.0.linear_attn"]
    assert len(said) == 1
    assert said[0].startswith("linear attention")
    after = {name: W for name, W in before.items() if "linear" not in name}
    one = ps.compare_weights(before, after, flips=0, heads=2)
    said = [row.reason for row in one.left_out if row.name == "model.layers.0.linear_attn"]
    assert len(said) == 1
    assert said[0].startswith("in the weights before: linear attention")


def test_one_bad_tensor_is_a_row_and_not_the_end():
    rng = np.random.default_rng(5)
    before = weights(rng)
    after = {name: W + 0.02 * rng.standard_normal(W.shape) for name, W in before.items()}
    bad = "bert.encoder.layer.0.attention.self.query.weight"
    after[bad] = np.full((48, 48), np.nan)
    found = ps.compare_weights(before, after, flips=0, heads=2)
    assert {row.layer for row in found.every_head} == {1}
    assert len(found.every_matrix) == 3
    assert any(row.name == bad and "NaN" in row.reason for row in found.left_out)


def test_a_tensor_that_cannot_be_read_is_a_row_too(monkeypatch):
    rng = np.random.default_rng(11)
    before = weights(rng)
    bad = "bert.encoder.layer.0.attention.self.query.weight"

    def torn(rows):
        raise CheckpointError("later.npz", "be whole", "it is torn", "Get it again.")

    def opened(source, member=None):
        found = open_checkpoint(source, member=member)
        if source is before:
            return found
        tensors = {**found.tensors, bad: dataclasses.replace(found.tensors[bad], reader=torn)}
        return dataclasses.replace(found, tensors=tensors)

    monkeypatch.setattr(sys.modules["presage.checkpoints.compare_weights"], "open_checkpoint", opened)
    after = {name: W + 0.02 * rng.standard_normal(W.shape) for name, W in before.items()}
    found = ps.compare_weights(before, after, flips=0, heads=2)
    assert {row.layer for row in found.every_head} == {1}
    assert len(found.every_matrix) == 3
    assert any(row.name == bad and "cannot be read: it is torn" in row.reason for row in found.left_out)


def test_without_flips_nothing_is_said_of_structure():
    rng = np.random.default_rng(6)
    before = weights(rng)
    after = {name: W + 0.02 * rng.standard_normal(W.shape) for name, W in before.items()}
    found = ps.compare_weights(before, after, flips=0, heads=2)
    assert {row.verdict for row in found.every_head} == {"cannot tell"}
    assert all("no signs were flipped" in row.sentence for row in found.every_head)
    assert not any("nan" in row.sentence for row in found.every_head)


def test_networks_without_attention_are_compared_by_their_matrices():
    rng = np.random.default_rng(7)
    before = {f"layers.{n}.weight": rng.standard_normal((40, 30)) for n in range(2)}
    after = {name: W + 0.1 * rng.standard_normal(W.shape) for name, W in before.items()}
    found = ps.compare_weights(before, after, flips=0)
    assert found.every_head == ()
    assert len(found.every_matrix) == 2
    assert found.left_out[0].name == "attention"
    assert found.summary.count("no tensor is named") == 1  # of both files, said once
    with pytest.raises(ps.CheckpointError, match="have tensors with 'nowhere' in their names"):
        ps.compare_weights(before, after, only="nowhere")


def test_whole_numbers_are_not_subtracted():
    """Codes whose scales are elsewhere are no weights, in whichever of the files they stand."""
    rng = np.random.default_rng(8)
    before = weights(rng, layers=1)
    after = {name: W + 0.02 * rng.standard_normal(W.shape) for name, W in before.items()}
    key = "bert.encoder.layer.0.attention.self.key.weight"
    after[key] = np.ones((48, 48), dtype=np.int8)
    found = ps.compare_weights(before, after, flips=0, heads=2)
    assert key not in {one.name for one in found.every_matrix}
    assert any(row.name == key and "whole numbers" in row.reason for row in found.left_out)


def test_members_of_archives(tmp_path):
    rng = np.random.default_rng(10)
    base = weights(rng)
    tuned = {name: 2.0 * W for name, W in base.items()}
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        for name, arrays in (("base.npz", base), ("tuned.npz", tuned)):
            np.savez(tmp_path / name, **arrays)
            archive.write(tmp_path / name, name)
    both = tmp_path / "two.zip"
    found = ps.compare_weights(both, both, member_before="base.npz", member_after="tuned.npz", flips=0, heads=2)
    assert [row.change for row in found.every_head] == pytest.approx([3.0] * 4)


def test_heads_of_other_numbers_and_shapes_are_said():
    rng = np.random.default_rng(12)
    names = [f"model.layers.0.self_attn.{one}_proj.weight" for one in "qk"]
    before = {name: rng.standard_normal((48, 48)) for name in names}
    after = {name: rng.standard_normal((24, 48)) for name in names}
    found = ps.compare_weights(before, after, flips=0, head_dim=24)
    said = {row.name: row.reason for row in found.left_out}
    assert [(row.layer, row.head) for row in found.every_head] == [(0, 0)]
    assert said["layer 0 head 1"] == "it is in the weights before only"
    assert said[names[0]] == "its shape is (24, 48) in the weights after"
    wider = {name: rng.standard_normal((48, 60)) for name in names}
    said = {row.name: row.reason for row in ps.compare_weights(before, wider, flips=0, heads=2).left_out}
    assert said["layer 0 head 0"] == "its factors were 48 x 24 and 48 x 24 and are 60 x 24 and 60 x 24"
