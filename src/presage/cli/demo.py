"""`presage demo`: the main result in one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from presage.cli.output import PANEL
from presage.cli.pictures import check_picture

EXAMPLES = ("presage demo", "presage demo --d 40 --out demo.pdf")
Out = Annotated[
    Path, typer.Option("--out", help="The picture, .png, .pdf or .svg.", metavar="FILE", rich_help_panel=PANEL)
]
Dimension = Annotated[int, typer.Option("--d", help="Dimension of the networks that are trained.", min=10, max=400)]


def demo(d: Dimension = 80, out: Out = Path("presage-demo.png")) -> None:
    """Predict and train an attention layer, print both side by side, and draw them."""
    check_picture(out, "--out")
    from presage import demo as shown

    shown.main(["--d", str(d), "--out", str(out)])
