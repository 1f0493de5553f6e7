"""The table of flow's operations is made of the code; run this file to write it anew."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import moxing.flow as flow

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "flow-operators.md"
HEAD = """\
# Operations of the flow dialect

Every operation that a job may call, made of the code. Arguments are those of the original, in its
order; names and orders of its other versions are taken too. `name` names the operation. Values, and
gradients where there are any, are those of one device on any number of devices.

"""
MODULES = (
    *("", "math", "nn", "layers", "data", "image", "random", "experimental"),
    *("keras.activations", "distribute", "advanced", "losses"),
)
# Not operations: decorators, definitions, initializers and scopes have pages of their own.
OTHERS = {
    *("function", "global_function", "function_config", "FunctionConfig", "clear_default_session"),
    *(
        "add_job",
        "init",
        "input_blob_def",
        "FixedTensorDef",
        "MirroredTensorDef",
        "MirroredTensorListDef",
    ),
    *("fixed_placement", "device_prior_placement", "name_scope", "user_op_builder"),
    *(
        "consistent_user_op_builder",
        "current_global_function_desc",
        "config",
        "env",
        "convert_of_dtype_to_numpy_dtype",
    ),
}


def _operations(path: str) -> list[tuple[str, Any]]:
    module: Any = flow
    for part in path.split(".") if path else ():
        module = getattr(module, part)
    found = []
    for name in dir(module):
        value = getattr(module, name)
        plain = not isinstance(value, ModuleType | type) and callable(value)
        first = name.endswith("_initializer") or name == "truncated_normal"
        if plain and not first and not name.startswith("_") and name not in OTHERS:
            found.append((name, value))
    return found


def _row(path: str, name: str, function: Any) -> str:
    arguments = ", ".join(
        key if value.default is value.empty else f"{key}={_word(value.default)}"
        for key, value in inspect.signature(function).parameters.items()
    )
    first = (inspect.getdoc(function) or "").partition("\n\n")[0].replace("\n", " ")
    full = f"flow.{path}.{name}" if path else f"flow.{name}"
    text = first.replace("|", "\\|")
    return f"| `{full}` | `{arguments}` | {text} |"


def _word(value: Any) -> str:
    return f"flow.{value.name}" if hasattr(value, "as_numpy_dtype") else repr(value)


def page() -> str:
    """The page's text."""
    parts = [HEAD]
    for path in MODULES:
        rows = [_row(path, name, value) for name, value in _operations(path)]
        parts.append(f"## `flow{'.' * bool(path)}{path}`\n\n| operation | arguments | result |\n")
        parts.append("|---|---|---|\n" + "\n".join(rows) + "\n\n")
    return "".join(parts).rstrip() + "\n"


def test_the_page_of_operations_is_that_of_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"run: python {Path(__file__).name}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
