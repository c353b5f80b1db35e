"""Which rows of the stored matrices are the queries and the keys of a head."""

from __future__ import annotations

from presage.checkpoints.cutting.head_counts import HeadCounts


def query_rows(layout: str, head: int, counts: HeadCounts) -> slice:
    """The rows of the queries of a head, of a matrix stored (out, in).

        separate, blocks: i h;  per head: 3 i h;  per group g of H/G heads: g (H/G + 2) h + r h, i = g H/G + r

    Equation: derived: from how each family reshapes its projections.
    Checked: tests/checkpoints/cutting/test_families.py::test_heads_come_back_as_they_were_packed
    """
    h, share = counts.head_dim, counts.heads // counts.kv_heads
    group, place = divmod(head, share)
    start = {"separate": head, "blocks": head, "per-head": 3 * head, "per-group": group * (share + 2) + place}[layout]
    return slice(start * h, (start + 1) * h)


def key_rows(layout: str, head: int, counts: HeadCounts) -> slice:
    """The rows of the keys that a query head uses: those of key head g = i // (H/G).

        separate: g h;  blocks: H h + g h;  per head: 3 i h + h;  per group: g (H/G + 2) h + (H/G) h

    Equation: derived: from how each family reshapes its projections.
    Checked: tests/checkpoints/cutting/test_families.py::test_heads_come_back_as_they_were_packed
    """
    h, share = counts.head_dim, counts.heads // counts.kv_heads
    group = head // share
    start = {
        "separate": group,
        "blocks": counts.heads + group,
        "per-head": 3 * head + 1,
        "per-group": group * (share + 2) + share,
    }[layout]
    return slice(start * h, (start + 1) * h)
