"""Files of weights from end to end: planted heads are told from noise, and every answer can be had in every form."""

from __future__ import annotations

import json

import numpy as np
import pytest

import presage as ps
from presage.checkpoints.read_weights import judged
from tests.checkpoints.planted import noise, planted

H, h, d = 2, 32, 128


def bert(layers):
    """A dict of arrays of a model whose heads are given, layer by layer."""
    found = {}
    for n, heads in enumerate(layers):
        for at, name in enumerate(("query", "key")):
            found[f"encoder.layer.{n}.attention.self.{name}.weight"] = np.vstack([factors[at].T for factors in heads])
    return found


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(20)
    return bert([[noise(h, d, rng), noise(h, d, rng)], [planted(h, d, 2, 6.0, rng), noise(h, d, rng)]])


@pytest.fixture(scope="module")
def report(model):
    return ps.read_weights(model, heads=H)


def test_planted_heads_of_a_file(model, report):
    assert [one.verdict == "random" for one in report.every_head] == [True, True, False, True]
    structured = report.head(1, 0)
    assert structured.at_least >= 1
    fit = next(fit for fit in structured.measured.fits if fit.law == "random")
    assert fit.spikes == 2
    Q = model["encoder.layer.1.attention.self.query.weight"][:h].T
    K = model["encoder.layer.1.attention.self.key.weight"][:h].T
    assert structured.singular_values == pytest.approx(np.linalg.svd(Q @ K.T, compute_uv=False)[:h])
    q = np.array([one.q_random for one in report.every_head])
    p = np.array([one.p_random for one in report.every_head])
    assert q[2] == pytest.approx(4 * p[2])


def test_every_form_of_an_answer(report, tmp_path):
    assert list(report.heads["layer"]) == [0, 0, 1, 1]
    assert {"top", "stable_rank", "stable_rank_null", "balance", "q_random", "at_least", "verdict"} <= set(report.heads)
    assert "1 heads differ from random factors" in report.summary
    assert "spectrum alone" not in report.summary  # said of heads that differ, and the spectrum of this one shows it
    assert report.skipped.empty
    assert report.matrices.empty
    json.dumps(report.as_dict(), allow_nan=True)
    report.to_netcdf(tmp_path / "heads.nc")
    import xarray as xr

    with xr.open_dataset(tmp_path / "heads.nc", engine="h5netcdf") as table:
        assert table["singular_values"].shape == (4, h)
        assert list(table["verdict"].values) == [one.verdict for one in report.every_head]
    report.plot(tmp_path / "model.png")
    assert (tmp_path / "model.png").stat().st_size > 10_000
    assert "layer 1 head 0" in str(report.head(1, 0))
    report.head(1, 0).save(tmp_path / "head.json")
    again = ps.load(tmp_path / "head.json")
    assert again.as_dict() == report.head(1, 0).as_dict() or str(again) == str(report.head(1, 0))
    axes = ps.plot(report.head(1, 0))
    assert axes.get_xlabel() == "place"
    assert report.head(1, 0)._repr_html_().startswith("<div>")
    assert report._repr_html_().startswith("<div>")
    with pytest.raises(ValueError, match=r"`path` must end in \.png, \.pdf or \.svg"):
        report.plot(tmp_path / "model.gif")


def test_heads_that_are_not_there(report):
    said = r"`head` must be one of the report: there are layers 0 to 1\. Got head='layer 7, head 0'"
    with pytest.raises(ValueError, match=said):
        report.head(7, 0)


def test_whole_matrices(model):
    report = ps.read_weights(model, heads=H, matrices=True, flips=5)
    assert len(report.matrices) == 4
    assert "Whole matrices:" in report.summary


def test_whole_matrices_of_a_file_without_attention():
    """With whole matrices a file without attention is no error, and the reason stands where it was skipped."""
    rng = np.random.default_rng(3)
    network = {f"layers.{n}.weight": rng.standard_normal((40, 30)) for n in range(2)}
    with pytest.raises(ps.CheckpointError, match="have attention whose names are known"):
        ps.read_weights(network, flips=0)
    report = ps.read_weights(network, matrices=True, flips=0)
    assert report.every_head == ()
    assert len(report.every_matrix) == 2
    assert report.left_out[0].name == "attention"
    assert "no tensor is named as the queries and keys" in report.left_out[0].reason
    assert "Look at its whole matrices" not in report.left_out[0].reason  # which is what was done
    assert "Skipped: attention (no tensor is named" in report.summary
    with pytest.raises(ps.CheckpointError, match="have tensors with 'nowhere' in their names"):
        ps.read_weights(network, matrices=True, only="nowhere")


def test_whole_matrices_where_the_number_of_heads_is_not_known(model):
    report = ps.read_weights(model, matrices=True, flips=0)
    assert report.every_head == ()
    assert len(report.every_matrix) == 4
    assert report.left_out[0].name == "attention"
    assert report.left_out[0].reason.endswith("Give heads=..., the number of query heads")


def test_a_table_is_never_empty_without_a_reason():
    small = {"layers.0.weight": np.ones((8, 8))}
    report = ps.read_weights(small, matrices=True, flips=0)
    assert [one.name for one in report.left_out] == ["attention", "whole matrices"]
    assert "24" in report.left_out[1].reason


def test_a_file_again_and_its_half_precision(model, tmp_path):
    """A file gives what the dict gives; in half precision every verdict stays."""
    np.savez(tmp_path / "model.npz", **model)
    (tmp_path / "config.json").write_text(
        json.dumps({"model_type": "bert", "num_attention_heads": H, "hidden_size": d})
    )
    report = ps.read_weights(tmp_path / "model.npz")
    assert [one.verdict for one in report.every_head] == [
        one.verdict for one in ps.read_weights(model, heads=H).every_head
    ]
    half = {name: W.astype(np.float16) for name, W in model.items()}
    rounded = ps.read_weights(half, heads=H)
    assert [one.verdict == "random" for one in rounded.every_head] == [True, True, False, True]


def test_settings_are_checked(model):
    with pytest.raises(ValueError, match=r"`flips` must be 0, or 3 or more"):
        ps.read_weights(model, heads=H, flips=1)
    with pytest.raises(ValueError, match="`tol` must be"):
        ps.read_weights(model, heads=H, tol=-1.0)
    with pytest.raises(ps.CheckpointError, match="heads"):
        ps.read_weights(model)
    assert ps.read_weights(model, heads=H, flips=0).every_head[0].at_least is None


def test_nothing_is_judged_of_nothing():
    assert judged([]) == ()


def test_one_head_is_asked_for_by_its_factors():
    rng = np.random.default_rng(0)
    W = rng.standard_normal((60, 30))
    with pytest.raises(ValueError, match=r"`W_K` must have as many columns as W_Q"):
        ps.read_head(W, W[:, :20])
    with pytest.raises(ValueError, match=r"`W_Q` must be finite numbers"):
        ps.read_head(W * np.nan, W)
    with pytest.raises(ValueError, match=r"`kind` must be self or cross"):
        ps.read_head(W, W, kind="other")
    with pytest.raises(ValueError, match="single or double precision"):
        ps.read_head(W.astype(np.float16), W)
    tied = ps.read_head(W)
    assert np.isnan(tied.balance)
    assert tied.singular_values == pytest.approx(np.linalg.svd(W, compute_uv=False) ** 2)
    assert tied.verdict == "random"
    zero = ps.read_head(np.zeros((60, 30)), np.zeros((60, 30)))
    assert zero.verdict == "too few values"


def test_what_a_report_says_of_biases_planes_and_shared_layers(tmp_path):
    """Of an ALBERT with a bias and of a Llama with rotary positions: columns, attributes, JSON and netCDF."""
    import xarray as xr

    from presage.checkpoints.measures import bias_share, noise_ceiling, plane_shares

    rng = np.random.default_rng(3)
    (Q, K), b = noise(h, d, rng), rng.standard_normal(h)
    start = "albert.encoder.albert_layer_groups.0.albert_layers.0.attention."
    arrays = {f"{start}query.weight": Q.T, f"{start}key.weight": K.T, f"{start}query.bias": b}
    np.savez(tmp_path / "model.npz", **arrays)
    config = {"model_type": "albert", "num_attention_heads": 1, "num_hidden_layers": 3}
    (tmp_path / "config.json").write_text(json.dumps(config))
    report = ps.read_weights(tmp_path / "model.npz", flips=0)
    (one,) = report.every_head
    assert one.bias == pytest.approx(bias_share(Q, K, b))
    assert list(report.heads["bias"]) == [one.bias]
    assert (one.shared, one.planes) == (("layer 1", "layer 2"), ())
    assert list(report.heads["shared"]) == [["layer 1", "layer 2"]]
    assert one.as_dict()["shared"] == ["layer 1", "layer 2"]
    assert one.ceiling == pytest.approx(noise_ceiling(one.singular_values, "shrunk", d, d))
    assert np.isfinite(one.ceiling)
    names = [f"model.layers.0.self_attn.{side}_proj.weight" for side in "qk"]
    np.savez(tmp_path / "model.npz", **dict(zip(names, (Q.T, K.T), strict=True)))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", "num_attention_heads": 1}))
    report = ps.read_weights(tmp_path / "model.npz", flips=0)
    (one,) = report.every_head
    assert one.planes == pytest.approx(plane_shares(Q, K, "half"))
    assert list(report.heads["planes"]) == [list(one.planes)]
    assert one.as_dict()["planes"] == list(one.planes)
    assert np.isnan(one.bias)
    assert one.shared == ()
    report.to_netcdf(tmp_path / "heads.nc")
    with xr.open_dataset(tmp_path / "heads.nc", engine="h5netcdf") as table:
        assert [float(x) for x in str(table["planes"].values[0]).split()] == list(one.planes)


def test_a_head_of_zeros_has_no_planes_and_one_of_a_single_column_no_spectrum():
    arrays = {f"layers.0.self_attn.{side}_proj.weight": np.zeros((4, 6)) for side in "qk"}
    zero = ps.read_weights(arrays, heads=2, family="llama", flips=0).every_head[0]
    assert np.isnan(zero.planes).all()
    rng = np.random.default_rng(0)
    single = ps.read_head(rng.standard_normal((9, 1)), rng.standard_normal((9, 1)))
    assert np.isnan(single.p_spectrum)
    narrow = ps.read_head(rng.standard_normal((9, 4)), rng.standard_normal((9, 1)) @ np.eye(1, 4))
    assert narrow.p_spectrum < 1e-9


@pytest.mark.parametrize("exponent", [-130, -60, 60, 120])
def test_heads_of_any_size_are_measured_alike(exponent):
    """Two to any power that single precision has, in one factor or in both: values times it, and flips alike."""
    rng = np.random.default_rng(5)
    Q, K = planted(h, d, 2, 6.0, rng)
    one = ps.read_head(Q, K)
    for both in (False, True):
        other = ps.read_head(Q * 2.0**exponent, K * (2.0**exponent if both else 1.0))
        size = 2.0 ** (exponent * (2 if both else 1))
        assert np.mean(other.measured.flips) == pytest.approx(np.mean(one.measured.flips) * size, rel=0.1)
        assert other.singular_values == pytest.approx(one.singular_values * size, rel=1e-9)
        assert other.p_random == pytest.approx(one.p_random)
        assert other.verdict == one.verdict
        assert other.at_least
