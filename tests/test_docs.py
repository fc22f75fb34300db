"""The documentation cannot rot: its Python runs, and its commands exist."""

import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from cloudarena.cli.app import command as command_line
from cloudarena.scenarios import kinds
from cloudarena.testing import yield_checks

ROOT = Path(__file__).parent.parent
READMES = [ROOT / "README.md", ROOT / "README.zh-CN.md"]
PAGES = sorted([*READMES, *(ROOT / "docs").glob("*.md")])  # tutorials: tests/test_tutorials.py
NEEDS_MORE = {"sb3.md": "torch and stable-baselines3, as tests/learn/test_sb3.py does"}
"""Pages whose Python is compiled and not run, and why."""
READERS_FILES = re.compile(
    r"(my-[\w-]+\.yaml|my-cloud/|my-cluster|mine\.py|\bDIR\b|snapshot\.json|prices\.csv|vms\.csv"
    r"|odd\.csv|list\.csv|etc\.csv|table\.csv|judgements\.csv|measurements\.csv|config\.yml"
    r"|learned:mine|learned:learned|azure-10k/|oversubscription|results/thresholds|results/sweep"
    r"|results/winner)"
)
"""Files that the reader of a page has, or that a command before made in minutes."""
MINUTES = ("train", "bench", "optimize", "sweep", "reproduce", "size")
"""Commands that take minutes as they stand in a page; each has small tests of its own."""


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def commands(page):
    for block in blocks(page, "console"):
        text = block.replace("\\\n", " ")
        for line in text.splitlines():
            words = line.removeprefix("$ ").partition(" # ")[0]
            program, _, arguments = words.partition(" ")
            if line.startswith("$ ") and program.rpartition("/")[2] == "cloudarena":
                yield arguments


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for block in blocks(page, "python"):
        code = compile(block, str(page), "exec")
        if page.name not in NEEDS_MORE:
            exec(code, names)


@pytest.mark.parametrize("page", [p for p in PAGES if any(commands(p))], ids=lambda p: p.name)
def test_the_commands_of_a_page_exist(page):
    for line in commands(page):
        command = command_line()
        words = shlex.split(line)
        while words and hasattr(command, "commands"):
            assert words[0] in command.commands, line
            command = command.commands[words.pop(0)]
        if hasattr(command, "list_methods"):
            command.list_methods()
        options = {name for parameter in command.params for name in parameter.opts}
        for word in words:
            if word.startswith("--"):
                assert word.partition("=")[0] in options | {"--help"}, line


def small(line):
    """A command of a page, with two replications at the most."""
    words = shlex.split(line)
    if words[0] == "compare":
        if "--replications" in words:
            at = words.index("--replications")
            words[at + 1] = "2"
        else:
            words += ["--replications", "2"]
        words += ["--workers", "1"]
    return words


def to_run():
    """The commands that need nothing of the reader's and take seconds."""
    found = {line: page.name for page in PAGES for line in commands(page)}
    for line, name in found.items():
        is_long = line.startswith(MINUTES) or "336k" in line
        if not READERS_FILES.search(line) and not is_long:
            yield pytest.param(line, id=f"{name}: {line[:60]}")


@pytest.mark.slow
@pytest.mark.parametrize("line", list(to_run()))
def test_the_commands_of_a_page_run(line, cloudarena, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if line.startswith("trace describe m"):
        cloudarena(*shlex.split("trace generate workflows --shape montage --functions 200 "
                                "--workflows 1 --resources one-core --out m"))  # fmt: skip
    code, out, err = cloudarena(*small(line))
    assert code == 0, err
    assert out.strip()


def test_both_readmes_say_the_same():
    """Each command, page and figure of one is in the other."""
    english, chinese = (page.read_text() for page in READMES)
    for pattern in (
        r"`(cloudarena [^`]*)`",
        r"\((docs/[^)#]*|[A-QS-Z]+\.md)",
        r"make (?:demo|test)",
    ):
        words = {found.split()[1] if "cloudarena " in found else found
                 for found in re.findall(pattern, english)}  # fmt: skip
        others = {found.split()[1] if "cloudarena " in found else found
                  for found in re.findall(pattern, chinese)}  # fmt: skip
        assert words == others, pattern
    speeds = [re.findall(r"^\| `\w+` \|.*\| ([\d;\uff1b, ]+) \|", text, re.MULTILINE)
              for text in (english, chinese)]  # fmt: skip
    numbers = [[re.findall(r"\d+", cell) for cell in cells] for cells in speeds]
    assert numbers[0] == numbers[1]
    assert len(numbers[0]) == 5
    for block in ("text", "python"):
        for mine, other in zip(*(blocks(page, block) for page in READMES), strict=True):
            code = [re.sub(r'"""[^"]*"""|#.*', "", one) for one in (mine, other)]
            if block == "text":
                assert code[0] == code[1]


def promises():
    """The lines of the page of invariants, with the tests that each names."""
    text = (ROOT / "docs" / "invariants.md").read_text()
    for number, tests in re.findall(r"^\| ([A-Z]\d+) \|.*\| (.*) \|$", text, re.MULTILINE):
        yield pytest.param(re.findall(r"`([^`]+)`", tests), id=number)


@cache
def names_of_checks():
    """The names of the public checks of all kinds."""
    return {check.name for kind in kinds() for check in yield_checks(kind)}


@pytest.mark.parametrize("tests", list(promises()))
def test_every_promise_names_tests_that_are_there(tests):
    assert tests
    for one in tests:
        path, _, name = one.partition("::")
        if path.endswith(".py"):
            assert not name or f"def {name}(" in (ROOT / path).read_text(), one
            assert "def test_" in (ROOT / path).read_text(), one
        else:
            assert any(check.endswith(one) for check in names_of_checks()), one
