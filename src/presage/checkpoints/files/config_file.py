"""The config.json that lies beside a file of weights."""

from __future__ import annotations

from typing import Any

from presage.checkpoints.files.folder import Folder
from presage.checkpoints.files.json_file import json_object

CONFIG = "config.json"


def read_config(folder: Folder) -> dict[str, Any]:
    """What config.json says, nothing where there is none; a damaged one is complained about."""
    file = folder.file(CONFIG)
    return {} if file is None else json_object(file)
