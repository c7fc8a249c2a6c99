"""MkDocs hook: pages from outside of docs/, and the parts of pages that code writes."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path
from shutil import copytree, ignore_patterns, rmtree

from docs.scripts import functions, schema
from hatch_build import WithoutChecks, write_stubs
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
OUTSIDE = ("adr/*.md", "benchmarks/RESULTS.md", "examples/*/*.md", "C*.md", "SECURITY.md")
"""Files beside docs/ that are part of the site, at the same place relative to its pages."""
BEHIND = ("adr/", "benchmarks/", "migrating/", "reference/", "C", "releasing")
"""Pages that a search of the site shows after those that say how to do something."""
WRITTEN = {
    "<!-- functions: ": functions.reference,
    "<!-- schema: ": schema.reference,
    "<!-- docstring: ": lambda names: f"```text\n{import_module(names[0]).__doc__}```",
}
"""How a line begins that is replaced, and what writes what takes its place."""


def on_startup(**_: object) -> None:
    """Copies the package, with the repositories as their stubs have them: methods written
    out. Arguments have their types without checks.

    Before mkdocstrings looks for the folder.
    """
    folder = ROOT / "build" / "reference"
    rmtree(folder, ignore_errors=True)
    copytree(ROOT / "app", folder, ignore=ignore_patterns("__pycache__"))
    for stub in write_stubs(folder, folder):
        stub.with_suffix(".py").unlink()
    for name in ("arguments", "filters"):
        path = folder / "pgrecall" / "ranking" / f"{name}.py"
        parsed = WithoutChecks().visit(ast.parse(path.read_text(encoding="utf-8")))
        path.write_text(ast.unparse(parsed), encoding="utf-8")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for pattern in OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    del config, files
    if page.file.src_uri.startswith(BEHIND):
        page.meta["search"] = {"boost": 0.1}
    for beginning, write in WRITTEN.items():
        line = re.compile(rf"^{re.escape(beginning)}(.*) -->$", re.MULTILINE)
        markdown = line.sub(lambda found, write=write: write(found[1].split()), markdown)  # type: ignore[misc]
    return inside(markdown, page.file.src_uri)


def inside(markdown: str, name: str) -> str:
    """The page with links that leave docs/ in the repository as they are in the site."""
    if (ROOT / "docs" / name).exists():
        up = "../" * name.count("/")
        return markdown.replace(f"]({up}../", f"]({up}")
    return markdown.replace("](docs/", "](")
