"""The documentation cannot rot: its Python runs, and its commands exist."""

import re
import shlex
from pathlib import Path

import pytest

from cloudarena.cli.app import command as command_line

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
NEEDS_MORE = {"vm.md"}  # goes on from a result that the reader has


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
