"""How the documentation is built: ``sphinx-build -W --keep-going -b html docs docs/_build/html``.

Nothing is fetched from the network: there are no links to other projects' inventories, and formulas
are written as MathML, which browsers draw themselves.
"""

import re
import sys
from pathlib import Path

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

import umfi

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # for draw_questions

project = "umfi"
author = "The umfi developers"
project_copyright = author
version = release = umfi.__version__
language = "en-GB"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "reproduction"]  # pictures, and parts of a page
templates_path = ["_templates"]

# Markdown. Headings can be linked to by their words.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# The reference: a page for each name, with its members on it.
autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # numpydoc's parameters have them in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the template of classes lists them

# The gallery. Scripts print and draw what is shown; a bare last expression is not printed.
sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_",
    "within_subsection_order": "ExampleTitleSortKey",
    "capture_repr": (),
    # Names in the code lead to the reference, and the reference names the examples.
    "reference_url": {"umfi": None},
    "doc_module": ("umfi",),
    "backreferences_dir": "generated/backreferences",
    # A script that fails fails the build.
    "only_warn_on_example_error": False,
    # How long a page took depends on the machine more than on the example.
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
}

html_theme = "furo"
html_title = "umfi"
html_static_path = ["_static"]
html_css_files = ["umfi.css"]
html_show_sphinx = False
html_copy_source = False
html_math_renderer = "mathml"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#0072B2"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#56B4E9"},
}

# Prompts and output are not copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

logger = logging.getLogger(__name__)


def check_reference(app: Sphinx) -> None:
    """Warn of public names that the reference leaves out."""
    text = (HERE / "reference.rst").read_text(encoding="utf-8")
    shown = set(re.findall(r"^   (?:umfi\.)?(\w+)$", text, flags=re.MULTILINE))
    for name in umfi.__all__:
        if name not in shown | {"__version__"}:
            logger.warning("reference.rst leaves out umfi.%s", name, location="reference")


def draw_pictures(app: Sphinx) -> None:
    """Draw the diagrams of the pages, for light and dark backgrounds."""
    from draw_questions import draw_questions

    folder = HERE / "generated"
    folder.mkdir(exist_ok=True)
    for shade in ("light", "dark"):
        draw_questions(folder / f"questions_{shade}.svg", shade)


def write_help(app: Sphinx) -> None:
    """Write the help of each command, which the page on the command line shows."""
    from typer.testing import CliRunner

    from umfi.cli import app as commands

    folder = HERE / "generated"
    folder.mkdir(exist_ok=True)
    for command in ("rank", "compare", "diagnose", "demo", "status", "merge"):
        ran = CliRunner().invoke(
            commands, [command, "--help"], prog_name="umfi", env={"COLUMNS": "80"}
        )
        if ran.exit_code != 0:
            logger.warning("umfi %s --help fails: %s", command, ran.output)
        (folder / f"help_{command}.txt").write_text(ran.output, encoding="utf-8")


def escape_signs(
    app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Escape what prose of docstrings means as it stands: |x|, and fitted_ attributes.

    Docstrings are written to be read in a terminal; reStructuredText would take these for markup.
    """
    for number, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...")):
            continue
        pieces = re.split(r"(`+[^`]*`+)", line)  # What is quoted stays.
        pieces[::2] = [
            re.sub(r"(?<=\w)_(?=[,)])", r"\\_", piece.replace("|", r"\|")) for piece in pieces[::2]
        ]
        lines[number] = "".join(pieces)


def to_mathml(node: nodes.Element, *, is_block: bool) -> str:
    """Return a formula as MathML, or warn if it cannot be written so."""
    try:
        return tex2mathml(node.astext(), as_block=is_block)
    except MathError as error:
        logger.warning("%s: %s", error, node.astext(), location=node)
        return ""


def visit_math(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line as MathML."""
    self.body.append(to_mathml(node, is_block=False))
    raise nodes.SkipNode


def visit_math_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula of its own as MathML, with its number if it has one."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    if node.get("number"):
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(to_mathml(node, is_block=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Connect what is defined here."""
    app.connect("builder-inited", draw_pictures)
    app.connect("builder-inited", write_help)
    app.connect("builder-inited", check_reference)
    # Before numpydoc, which turns sections into fields.
    app.connect("autodoc-process-docstring", escape_signs, priority=400)
    app.add_html_math_renderer(
        "mathml", inline_renderers=(visit_math, None), block_renderers=(visit_math_block, None)
    )
