"""The house: imports go down only, each library has its room, no room grows fat."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "resumectl"
FLOORS = {
    0: {"disk", "columns", "plain", "records", "lines", "follow", "tail", "foreign", "journal", "fence", "items", "stream", "place", "program", "shell", "words", "address"},
    1: {"spending", "standing", "figures", "extent", "ledger", "accounts", "outputs", "evidence", "when", "resets", "verdict", "template", "presets", "cells"},
    2: {"failures", "catalogue", "survey", "files", "job", "tally", "throttle", "policy", "pacing", "ends", "papers", "admission", "run", "compaction", "loop", "interrupts", "feed"},
    3: {"child", "command", "crew", "warden"},
    4: {"batches", "reading", "order", "report", "printer", "bar", "picture", "snapshot", "events", "inspection", "forecast", "database", "rows", "engine", "cluster", "claims", "worker", "dask", "joining"},
    5: {"cli", "__main__"},
}
LIBRARIES = {
    "typer": {"cli"},
    "rich": {"bar", "picture"},
    "portalocker": {"disk"},
    "distributed": {"claims", "worker", "dask", "joining", "cli"},
    "sqlalchemy": {"database"},
    "orjson": {"accounts", "columns", "extent", "plain", "inspection", "batches", "place", "events", "foreign", "papers", "records", "lines", "follow", "journal", "run", "items", "evidence", "when", "template", "cli"},
}
FLOOR = {name: floor for floor, names in FLOORS.items() for name in names}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py" or path.parent != PACKAGE)


def room(path: Path) -> str:
    """The top-level name that a file belongs to."""
    part = path.relative_to(PACKAGE).parts[0]
    return part.removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Project modules as `.name`, libraries as `name`."""
    found = set()
    depth = len(path.relative_to(PACKAGE).parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = (node.module or "").split(".")[0]
            if node.level == 0:
                found.add(module)
            elif node.level == depth:
                names = [module] if module else [name.name for name in node.names]
                found |= {f".{name}" for name in names if not name.startswith("__")}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down_only(path):
    """A module imports its own floor and those below it, never one above."""
    for name in imports(path):
        if name.startswith("."):
            assert FLOOR[name[1:]] <= FLOOR[room(path)], f"{path.name} imports {name[1:]}"


def test_modules_of_one_floor_do_not_import_in_circles():
    graph = {
        room(path): {name[1:] for name in imports(path) if name[0] == "."} for path in MODULES if path.parent == PACKAGE
    }
    while graph:
        free = [name for name, below in graph.items() if not below & graph.keys()]
        assert free, f"a circle among {sorted(graph)}"
        for name in free:
            del graph[name]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_each_library_stays_in_its_room(path):
    for library, rooms in LIBRARIES.items():
        if library in imports(path):
            assert room(path) in rooms, f"{path.name} imports {library}"


def test_every_module_has_a_floor():
    assert {room(path) for path in MODULES} <= FLOOR.keys()


@pytest.mark.parametrize("path", [*MODULES, *sorted(Path(__file__).parent.rglob("*.py"))], ids=lambda path: path.name)
def test_no_module_is_longer_than_three_hundred_lines(path):
    assert len(path.read_text().splitlines()) <= 300


def test_the_top_level_holds_what_it_should_and_nothing_else():
    allowed = {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "Makefile",
        "resumectl",
        "tests",
        "completions",
    }
    found = {path.name for path in PACKAGE.parent.iterdir() if path.name[0] != "."}
    assert {name for name in found if not name.endswith(".egg-info") and name != "build"} <= allowed


def test_reading_a_journal_needs_neither_typer_nor_rich():
    """`import resumectl` must stay light."""
    import subprocess
    import sys

    code = "import resumectl, resumectl.snapshot, sys; print({'typer', 'rich', 'portalocker', 'distributed'} & set(sys.modules))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert printed.stdout.strip() == "set()"
