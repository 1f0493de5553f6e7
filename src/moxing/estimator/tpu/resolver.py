"""`TPUClusterResolver`, which programs create only to use a TPU."""

from __future__ import annotations

from typing import Any

from moxing.errors import MoxNotSupportedError


class TPUClusterResolver:
    """Always raises an error: there are no TPUs here.

    Raises:
        MoxNotSupportedError: always; the message says what to do.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        del arguments, keywords
        raise MoxNotSupportedError(
            "TPUClusterResolver looks for a TPU, and there are none here. Start the program without"
            " one, with use_tpu=False (for most: leave --use_tpu and --tpu_name out)."
        )
