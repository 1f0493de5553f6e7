"""A hook of MkDocs: links to files outside of `docs/` lead to the repository, or are plain text.

Pages link to tests as people follow them in a checkout, such as `../../tests/cli/test_runs.py`. The
site has no such pages.
"""

from __future__ import annotations

import re
from typing import Any

_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+((?:tests|examples|src|tools)/[^)#\s]+)\)")


def on_page_markdown(markdown: str, config: Any, **others: Any) -> str:
    """Returns a page's text with links into the repository, if `repo_url` says where it is."""
    del others
    home = (config.get("repo_url") or "").rstrip("/")
    return _OUTSIDE.sub(rf"[\1]({home}/blob/main/\2)" if home else r"\1", markdown)
