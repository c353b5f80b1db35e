"""The settings of the selection of features by the signal matrix."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, final

from presage.protocol.fields import Choice, declared
from presage.protocol.trainer import Trainer

PICK = Choice(
    'which eigenvectors are kept, those furthest beyond the edge of their own side ("sides"), or those of the largest '
    'size of the eigenvalue ("size")',
    options=("sides", "size"),
    default="sides",
    reason="it says which eigenvectors are kept",
)


@final
@dataclass(frozen=True)
class LowDegreeFilter(Trainer):
    """Eigenvectors of ``C = (1/n) sum y z z'``, as many as there are features.

    Edges of the bulk are those that the same samples have with shuffled labels. With labels of a skewed law, or a
    tail, both edges differ, and by the size of eigenvalues some of the bulk may come before a feature.
    """

    pick: Literal["sides", "size"] = field(default=PICK.default, metadata=declared(PICK))
