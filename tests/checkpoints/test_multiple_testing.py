from __future__ import annotations

import numpy as np
import pytest

from presage.checkpoints.multiple_testing import bonferroni, false_discovery


def test_rejections_are_those_of_the_step_up_rule():
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.random(80), rng.random(20) * 1e-3, [np.nan]])
    q = false_discovery(p)
    known = np.sort(p[:100])
    for level in (0.01, 0.05, 0.2):
        last = np.flatnonzero(known <= level * np.arange(1, 101) / 100)
        assert np.sum(q <= level) == (last[-1] + 1 if len(last) else 0)
    assert np.isnan(q[-1])
    assert false_discovery(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.04, 0.04])


def test_bonferroni_leaves_out_what_was_not_tested():
    assert bonferroni(np.array([0.01, 0.5, np.nan])) == pytest.approx(0.02)
    assert bonferroni(np.array([0.9, 0.8])) == 1.0
    assert np.isnan(bonferroni(np.array([np.nan])))
