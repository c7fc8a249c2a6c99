"""The migration this version of the code was written against."""

from typing import Final

REVISION: Final = "0018"
