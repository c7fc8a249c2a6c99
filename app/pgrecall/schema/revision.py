"""The revision of the schema that this version of the code needs."""

from __future__ import annotations

from typing import Final

REVISION: Final = "0002"
