"""What a shell completes, asked as shells ask: by the environment."""

import os
import shutil
import subprocess
import sys

import pytest

from cloudarena.base.declared import decorated_names, given_names
from cloudarena.cli.complete import kind_of
from cloudarena.optimizers import METHODS
from cloudarena.scenarios import kinds


def completed(cloudarena, monkeypatch, line):
    monkeypatch.setenv("_CLOUDARENA_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
    code, out, _ = cloudarena()
    assert code == 0
    return out.split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("cloudarena comp", ["compare"]),
        ("cloudarena k8s ", ["headroom", "drain", "mix"]),
        ("cloudarena run --expl", ["--explain"]),
        ("cloudarena run vm/to", ["vm/toy"]),
        ("cloudarena run vm/toy --policy best-fit-m", ["best-fit-memory"]),
        ("cloudarena run vm/toy --policy repl", ["replay:"]),
        ("cloudarena run vm/toy --record s", ["summary"]),
        ("cloudarena run --seed 3 tiers/toy --policy model", ["model-based"]),
        ("cloudarena run jobs/toy --policy=min", ["min-min"]),
        ("cloudarena run jobs/toy --policy min", ["min-min"]),
        ("cloudarena compare vm/toy --policies first-fit,wor", ["first-fit,worst-fit"]),
        ("cloudarena compare vm/toy --policies worst-fit,wor", []),
        ("cloudarena compare vm/toy --baseline ran", ["random"]),
        ("cloudarena compare vm/toy --by cost", ["cost_usd"]),
        ("cloudarena compare tiers/toy --where response_p", ["response_p95_s", "response_p99_s"]),
        ("cloudarena optimize tiers/toy --method lo", ["los"]),
        ("cloudarena optimize tiers/toy --compare los,mo", ["los,mocba", "los,monte-carlo"]),
        (
            "cloudarena optimize --within 1% tiers/toy --objectives cost_usd,tot",
            ["cost_usd,total_cost_usd"],
        ),
        ("cloudarena optimize tiers/toy --with", ["--within"]),
        ("cloudarena import a.csv --kind ", ["carbon", "faas", "jobs", "tiers", "vm"]),
        ("cloudarena import a.csv --preset s", ["sacct", "swf"]),
        ("cloudarena train tiers/toy --reward total_c", ["total_cost_usd"]),
        ("cloudarena train tiers/toy --algorithm p", ["ppo"]),
        ("cloudarena spec f", ["faas"]),
        ("cloudarena policies w", ["workflow"]),
        ("cloudarena size vm/toy --policy round", ["round-robin"]),
        ("cloudarena map a.csv --heuristic met,suff", ["met,sufferage"]),
        ("cloudarena trace convert alibaba-2018 --kind ", ["jobs", "workflow"]),
    ],
)
def test_a_shell_completes_commands_options_and_values(cloudarena, monkeypatch, line, words):
    assert completed(cloudarena, monkeypatch, line) == words


@pytest.mark.parametrize("kind", kinds())
def test_the_names_that_are_read_from_source_are_those_of_the_kind(kind):
    made = kinds()[kind]
    assert sorted(given_names(f"{made.package}.policies")) == sorted(made.policies)
    read = decorated_names(f"{made.package}.metrics", "metric")
    assert sorted(read) == sorted(metric.name for metric in made.metrics)


def test_the_methods_that_are_read_from_source_are_those_that_there_are():
    assert sorted(given_names("cloudarena.optimizers.methods")) == sorted(METHODS)


def test_a_module_that_is_one_file_is_read_and_one_that_is_none_has_no_names(monkeypatch, tmp_path):
    (tmp_path / "one_file_of_policies.py").write_text(
        "@BOOK.register('mine')\ndef f(): ...\n@BOOK.stepped(name)\nclass C: ...\nmade('other')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert given_names("one_file_of_policies") == ["mine", "other"]
    assert given_names("no_such_module_at_all") == []


def test_the_kind_of_a_file_is_what_it_says(tmp_path):
    mine, study, bad = (tmp_path / name for name in ("mine.yaml", "study.yaml", "bad.yaml"))
    mine.write_text("# a cloud\nscenario: jobs\n")
    study.write_text(f"spec: {mine}\n")
    bad.write_bytes(b"\xff\xfe")
    assert [kind_of(str(file)) for file in (mine, study, bad)] == ["jobs", "jobs", ""]
    assert kind_of(str(tmp_path / "missing.yaml")) not in kinds()


@pytest.mark.parametrize(
    "line",
    [
        "cloudarena compare vm/toy --policies best-fit,f",
        "cloudarena optimize tiers/toy --method lo",
        "cloudarena train jobs/toy --reward ",
        "cloudarena import a.csv --preset s",
        "cloudarena map a.csv --heuristic m",
    ],
)
def test_values_are_completed_without_numba(line):
    script = (
        "import sys\nfrom cloudarena.cli import main\ntry: main()\nexcept SystemExit: pass\n"
        "print('numba' in sys.modules, 'scipy' in sys.modules)"
    )
    asked = {"_CLOUDARENA_COMPLETE": "complete_bash", "COMP_WORDS": line}
    environment = {**os.environ, **asked, "COMP_CWORD": str(line.count(" "))}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment
    )
    assert done.stdout.splitlines()[-1] == "False False", done.stderr
    assert len(done.stdout.splitlines()) > 1


@pytest.mark.skipif(shutil.which("bash") is None, reason="asks bash")
def test_a_real_bash_completes_by_the_script_that_is_shown(tmp_path):
    command = tmp_path / "cloudarena"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m cloudarena "$@"\n')
    command.chmod(0o755)
    script = (
        'eval "$(cloudarena --show-completion bash)"\n'
        "COMP_WORDS=(cloudarena run vm/toy --policy best-fit-m) COMP_CWORD=4\n"
        '_cloudarena_completion cloudarena\necho "${COMPREPLY[*]}"\n'
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "SHELL": "/bin/bash"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == "best-fit-memory", done.stderr
