"""What a proximal solve of the softmax loss reports, and what its two compiled versions share.

For one sample the map is ``p = argmin_h |h-z|^2/2 + Sigma l(h)`` with ``l(h) = |softmax(h) - softmax(anchor)|_F^2``,
where `anchor` is the point of zero loss: ``(beta_0/beta) z_0`` for a target with pre-activation ``z_0``. It is not
convex: Newton starts from several points (for two tokens in the basins seen between ``z`` and the anchor), and the
lowest minimum is kept. All results are written through ``f = (p-z)/Sigma = -grad l(p)``, which stays accurate when
Sigma is tiny.

The components ``h_k``, ``k = (a,b)`` with ``a <= b``, stand for the matrix ``R_ab = sqrt(1 + delta_ab) h_ab``.
"""

from __future__ import annotations

import numpy as np

FUSED = {"contract", "reassoc", "nsz", "arcp"}
ROOT_2 = float(np.sqrt(2.0))
MOST_STEPS = 100  # of Newton's method
RUGGED = 6.0  # Sigma beta^2 above which basins are many and narrow, and more starts are worth their time

# What one proximal solve reports, in this order.
TRACE_Z = 0  # tr df/dz
TRACE_ANCHOR = 1  # tr df/d(anchor)
SQUARE_Z = 2  # |df/dz|_F^2
LOSS_AT_P = 3
LOSS_AT_Z = 4
OTHER_MINIMUM = 5  # 1 where the starts end in different minima: p jumps somewhere near
REPORTED = 6
