"""The notebook in docs: its cells run in order, and show what it shows.

`python crates/python/tests/test_notebook.py` writes what they show anew.
"""

import ast
import contextlib
import io
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[3] / "docs/copies.ipynb"


def shown(source, names):
    """What a cell prints, and its last value, as a notebook keeps them."""
    *body, last = ast.parse(source).body or [ast.Pass()]
    value, printed = None, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        else:
            exec(compile(ast.Module([last], []), "cell", "exec"), names)
    outputs = []
    if text := printed.getvalue():
        lines = text.splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines})
    if value is not None:
        data = {"text/plain": [repr(value)]}
        if hasattr(value, "_repr_svg_"):
            data["image/svg+xml"] = value._repr_svg_().splitlines(keepends=True)
        outputs.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return outputs


def code_cells():
    notebook = json.loads(NOTEBOOK.read_text())
    return notebook, [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_cells_show_what_they_show(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    pytest.importorskip("jax", reason="JAX is not installed, which the notebook shows")
    names = {}
    for cell in code_cells()[1]:
        source = "".join(cell["source"])
        assert shown(source, names) == cell["outputs"], source


if __name__ == "__main__":
    document, cells = code_cells()
    scope = {}
    for code in cells:
        code["outputs"] = shown("".join(code["source"]), scope)
    NOTEBOOK.write_text(json.dumps(document, indent=1) + "\n")
