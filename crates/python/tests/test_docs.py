"""The examples in the docstrings, and in the documents' Python blocks; the stubs beside the module."""

import ast
import doctest
import inspect
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import pytest

import minormajor as mm
from minormajor import _core

ROOT = Path(__file__).parents[3]


def documented():
    """Every public function, class and member of one, and each part of the stubs beside it."""
    for name in mm.__all__:
        value = getattr(mm, name)
        if callable(value):
            yield name, value
        if inspect.isclass(value) and not issubclass(value, Exception):
            for member, inside in vars(value).items():
                is_field = member in getattr(value, "__dataclass_fields__", {})
                if not member.startswith("_") and not is_field:
                    yield f"{name}.{member}", inside


@pytest.mark.parametrize("name,value", list(documented()))
def test_docstrings(name, value):
    text = inspect.getdoc(value)
    assert text, f"{name} has no docstring"
    globs = {n: getattr(mm, n) for n in mm.__all__} | {"Path": Path, "tempfile": tempfile, "numpy": numpy}
    test = doctest.DocTestParser().get_doctest(text, globs, name, None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert runner.run(test).failed == 0


@pytest.mark.parametrize("document", ["README.md", "docs/python.md", "docs/tensors.md"])
def test_blocks_of_documents(document):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)
    assert blocks, f"{document} shows Python"
    for block in blocks:
        exec(compile(block, document, "exec"), {})  # noqa: S102


def test_stubs_are_strict(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    package = str(ROOT / "crates/python/python/minormajor")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]
    command += ["--cache-dir", str(tmp_path), package]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_say_what_is_there():
    tree = ast.parse((ROOT / "crates/python/python/minormajor/_core.pyi").read_text())
    said = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            said[node.name] = [a.arg for a in node.args.posonlyargs + node.args.args + node.args.kwonlyargs]
        if isinstance(node, ast.ClassDef):
            said[node.name] = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
    typed_only = {"ArrayInfo", "FileInfo"}
    public = {n for n in dir(_core) if not n.startswith("_")}
    assert public == set(said) - typed_only
    for name in public:
        value = getattr(_core, name)
        if inspect.isclass(value):
            if not issubclass(value, Exception):
                there = {n for n in vars(value) if not n.startswith("__")}
                assert there == {n for n in said[name] if not n.startswith("__")}, name
        else:
            assert list(inspect.signature(value).parameters) == said[name], name
