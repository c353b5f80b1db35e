"""The pages of docs/ that teach by code: each block runs, in order, and prints what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
# A block of code, and what it prints where the page shows that.
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```\n(?P<shown>.*?)```\n)?", re.DOTALL)
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@pytest.mark.parametrize("page", ["add-a-channel.md", "how-much-data.md"])
def test_every_block_runs_and_prints_what_is_shown(page, capsys):
    names: dict = {"__name__": "__main__"}
    blocks = [*BLOCK.finditer((DOCS / page).read_text(encoding="utf-8"))]
    assert len(blocks) >= 4
    for block in blocks:
        exec(compile(block["code"], page, "exec", dont_inherit=True), names)
        printed = capsys.readouterr().out
        # Last digits differ between machines: the words must be the same, and numbers of a prediction nearly so.
        assert NUMBER.sub("#", printed) == NUMBER.sub("#", block["shown"] or "")
        if printed.startswith("test_error  "):
            for ours, shown in zip(printed.splitlines(), block["shown"].splitlines(), strict=True):
                assert float(ours.split()[1]) == pytest.approx(float(shown.split()[1]), rel=1e-5)
