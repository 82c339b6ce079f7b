"""The reproduction is outside the package, and uses what every user has."""

import ast
from pathlib import Path

import pytest

import reproduction
import umfi

FOLDER = Path(reproduction.__file__).parent


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_only_public_names_of_umfi_are_used(path):
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                assert alias.name == "umfi" or not alias.name.startswith("umfi.")
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] != "umfi", "write umfi.name instead"
    # What is used of the module: umfi.datasets.simulate, umfi.RunError, umfi.__file__.
    used = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "umfi"
    }
    assert used <= {*umfi.__all__, "__file__"}


def test_the_package_does_not_use_the_reproduction():
    for path in Path(umfi.__file__).parent.rglob("*.py"):
        assert "import reproduction" not in path.read_text("utf-8")
        assert "from reproduction" not in path.read_text("utf-8")
