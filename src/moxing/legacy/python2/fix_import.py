"""2to3's fixer for imports of modules beside a package's module, but for dotted names.

Of `import part.leaf` the fixer would make `from . import part.leaf`, which is no Python. Such a
statement stays as it is: the program's import function looks beside the module last.
"""

from __future__ import annotations

from typing import Any

from fissix.fixes import fix_import


class FixImport(fix_import.FixImport):
    """Makes relative imports of names without dots."""

    def transform(self, node: Any, results: dict[str, Any]) -> Any:
        if node.type != fix_import.syms.import_from:
            names = fix_import.traverse_imports(results["imp"])
            if any("." in name for name in names):
                return None
        return super().transform(node, results)
