"""The tutorials run as they are written, from the files beside them."""

import random
import re
import shlex
import shutil
from pathlib import Path

from tools.make_exports import EXPORTS

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"


def commands(page):
    text = page.read_text().replace("\\\n", " ")
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            yield shlex.split(line.removeprefix("$ cloudarena "))


def test_the_file_of_the_tutorial_is_made_by_the_script():
    made = EXPORTS["vms.csv"](random.Random(1))
    assert (TUTORIALS / "your-trace" / "vms.csv").read_text() == made


def test_your_trace(cloudarena, tmp_path, monkeypatch):
    shutil.copytree(TUTORIALS / "your-trace", tmp_path / "your-trace")
    monkeypatch.chdir(tmp_path)
    said = []
    for words in commands(TUTORIALS / "your-trace.md"):
        more = ["--workers", "1"] if words[0] == "compare" else []
        code, out, err = cloudarena(*words, *more)
        assert code == 0, err
        said.append(" ".join(out.split()))
    imported, compared, sized = said
    assert "rejected 3" in imported
    assert "next: cloudarena compare my-cloud/spec.yaml" in imported
    page = " ".join((TUTORIALS / "your-trace.md").read_text().split())
    (answer,) = re.findall(r"best-fit costs .* about such traces\.", page)
    assert answer in compared, compared[-600:]
    assert (tmp_path / "results" / "report.html").is_file()
    assert re.search(r"13 . machine keep unserved_share <= 0.02 under best-fit", sized), sized
