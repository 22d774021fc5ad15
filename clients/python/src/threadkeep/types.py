"""The types of calls: what they take, and what they answer."""

from threadkeep.printed.types import *  # noqa: F403
from threadkeep.printed.types import __all__ as __all__
