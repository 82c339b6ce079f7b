"""The README's examples print what the README says."""

import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_examples_print_what_is_shown(capsys):
    examples = re.findall(r"```python\n([^`]*?)```\n\n```text\n(.*?)```", README, re.DOTALL)
    assert len(examples) == 2
    names = {}
    for code, shown in examples:
        exec(compile(code, "README.md", "exec"), names)
        assert capsys.readouterr().out == shown


def test_the_other_python_lines_run(tmp_path, monkeypatch):
    import umfi

    monkeypatch.chdir(tmp_path)
    X, y = umfi.datasets.simulate("correlation", n=60, random_state=0)
    names = {"umfi": umfi, "X": X, "y": y, "result": umfi.bivariate(X, y)}
    for code in re.findall(r"```python\n(.*?)```", README, re.DOTALL)[1:]:
        exec(compile(code, "README.md", "exec"), names)
    assert (tmp_path / "result.json").exists()


def test_every_public_function_it_names_exists():
    import umfi

    for name in set(re.findall(r"umfi\.(?!datasets)(\w+)", README)):
        assert hasattr(umfi, name), name


def test_documents_name_files_that_exist_and_have_no_gaps():
    root = Path(__file__).parents[1]
    for document in [root / "README.md", *root.glob("docs/*.md")]:
        text = document.read_text(encoding="utf-8")
        for link in re.findall(r"\]\((?!http)([^)#]+)\)", text):
            target = document.parent / link
            if target.parent.name == "gallery":  # Pages that the build makes of examples.
                target = root / "examples" / f"{target.stem}.py"
            assert target.exists(), (document.name, link)
        assert not re.findall(r"^[A-Z]+_[A-Z]+$", text, re.MULTILINE), document.name
