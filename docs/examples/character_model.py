"""Experiment B: a small character model is trained with more and less weight decay, and its heads are read.

The model is a transformer with causal softmax attention, two layers of two heads, without biases and gains of norms.
The text is what Python's own help has to say (`pydoc_data.topics`), which is there wherever Python is. Weight decay is
in the loss, ``mean cross-entropy + decay sum |W|^2`` over all matrices, as the theory has it. What the theory says of
a head at a minimum: more decay gives a lower rank and balanced factors, more data give more values that stand out.
This model is outside of the setting of the theory, and some steps of Adam are no minimum: the table shows what is
left.

    python docs/examples/character_model.py                                              # the whole table, some minutes
    python docs/examples/character_model.py --chars 20000 --decays 0 1e-3 --steps 200    # a glance

It needs PyTorch: pip install torch.
"""

# ruff: noqa: T201 - a script prints

from __future__ import annotations

import argparse
import pydoc_data.topics
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional

import presage as ps

Tensors = dict[str, Any]
HEADER = "  chars  decay  effective rank  values > 1 %  balance  at least  shrunk fits  validation loss"
HELD_OUT = 40_000  # characters at the end of the text, for the validation
BATCH = 32


class Model(NamedTuple):
    """Sizes of the model, and how it is trained."""

    d: int = 64
    heads: int = 2  # of a layer; a head has d/heads coordinates
    layers: int = 2
    tokens: int = 64  # characters that it looks back to
    steps: int = 1400
    rate: float = 2e-3


def text() -> Any:
    """All topics of Python's help as numbers of characters."""
    topics = pydoc_data.topics.topics
    joined = "\n".join(topics[name] for name in sorted(topics))
    characters = {character: i for i, character in enumerate(sorted(set(joined)))}
    return torch.tensor([characters[character] for character in joined])


def parameters(model: Model, vocabulary: int, random: Any) -> Tensors:
    """All matrices, with independent entries such that signals keep their size."""
    d = model.d
    shapes = {"embedding": (vocabulary, d), "positions": (model.tokens, d), "unembedding": (d, vocabulary)}
    for layer in range(model.layers):
        shapes |= {f"{layer}.{name}": (d, d) for name in ("query", "key", "value", "output")}
        shapes |= {f"{layer}.up": (d, 4 * d), f"{layer}.down": (4 * d, d)}
    found = {name: torch.randn(shape, generator=random) * shape[0] ** -0.5 for name, shape in shapes.items()}
    for name in ("embedding", "positions"):
        found[name] = torch.randn(shapes[name], generator=random) * d**-0.5
    return {name: value.requires_grad_() for name, value in found.items()}


def logits(model: Model, W: Tensors, characters: Any) -> Any:
    """Scores of the next character at every place, batch x tokens x vocabulary."""
    batch, T = characters.shape
    x = W["embedding"][characters] + W["positions"][:T]
    for layer in range(model.layers):
        seen = _normed(x)
        query, key, value = (
            (seen @ W[f"{layer}.{name}"]).view(batch, T, model.heads, -1).transpose(1, 2)
            for name in ("query", "key", "value")
        )
        read = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + read.transpose(1, 2).reshape(batch, T, model.d) @ W[f"{layer}.output"]
        x = x + functional.gelu(_normed(x) @ W[f"{layer}.up"]) @ W[f"{layer}.down"]
    return _normed(x) @ W["unembedding"]


def _normed(x: Any) -> Any:
    return functional.rms_norm(x, x.shape[-1:])


def cross_entropy(model: Model, W: Tensors, windows: Any) -> Any:
    """Mean over places of windows of tokens + 1 characters, in nats."""
    return functional.cross_entropy(logits(model, W, windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())


def train(model: Model, codes: Any, vocabulary: int, decay: float, seed: int) -> Tensors:
    """Some steps of Adam, at a rate that falls as a cosine; each sees windows at random places."""
    random = torch.Generator().manual_seed(seed)
    W = parameters(model, vocabulary, random)
    adam = torch.optim.Adam(W.values(), lr=model.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, model.steps)
    places = torch.arange(model.tokens + 1)
    for _ in range(model.steps):
        starts = torch.randint(len(codes) - model.tokens, (BATCH,), generator=random)
        loss = cross_entropy(model, W, codes[starts[:, None] + places])
        if decay:
            loss = loss + decay * sum(value.square().sum() for value in W.values())
        adam.zero_grad()
        loss.backward()
        adam.step()
        schedule.step()
    return W


def validation_loss(model: Model, W: Tensors, codes: Any) -> float:
    """On text that was not trained on, nats a character."""
    width = model.tokens + 1
    windows = codes[: len(codes) // width * width].view(-1, width)
    with torch.no_grad():
        return float(cross_entropy(model, W, windows))


def read(model: Model, W: Tensors) -> list[ps.HeadReport]:
    """Every head beside what noise would show."""
    found = []
    for layer in range(model.layers):
        W_Q, W_K = (W[f"{layer}.{name}"].detach().numpy() for name in ("query", "key"))
        cuts = zip(np.split(W_Q, model.heads, axis=1), np.split(W_K, model.heads, axis=1), strict=True)
        found += [ps.read_head(queries, keys) for queries, keys in cuts]
    return found


def row(chars: int, decay: float, heads: Sequence[ps.HeadReport], loss: float) -> str:
    """One line of the table: means over the heads, and how many of them have a bulk of shrunk noise."""
    rank = np.mean([head.effective_rank for head in heads])
    above = np.mean([np.sum(head.singular_values > 0.01 * head.top) for head in heads])
    balance = np.mean([head.balance for head in heads])
    at_least = np.mean([head.at_least or 0 for head in heads])
    fits = sum(fit.law == "shrunk" and fit.accepted for head in heads for fit in head.measured.fits)
    return (
        f"{chars:7d} {decay:6g} {rank:15.1f} {above:13.1f} {balance:8.2f} {at_least:9.2f}"
        f" {fits:7d} of {len(heads)} {loss:16.2f}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Heads of a small character model, trained and read.")
    parser.add_argument("--chars", type=int, nargs="+", default=[20_000, 100_000, 400_000])
    parser.add_argument("--decays", type=float, nargs="+", default=[0.0, 1e-5, 1e-4, 1e-3])
    parser.add_argument("--seed", type=int, default=0)
    for name, size in Model()._asdict().items():
        parser.add_argument(f"--{name}", type=type(size), default=size)
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    model = Model(*(getattr(given, name) for name in Model._fields))
    codes = text()
    vocabulary, training, held_out = int(codes.max()) + 1, codes[:-HELD_OUT], codes[-HELD_OUT:]
    print(HEADER)
    for chars in given.chars:
        for decay in given.decays:
            W = train(model, training[:chars], vocabulary, decay, given.seed)
            print(row(chars, decay, read(model, W), validation_loss(model, W, held_out)), flush=True)


if __name__ == "__main__":
    main()
