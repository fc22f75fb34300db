"""Files say which version of specs and of folders they are of, and a later one is refused."""

import json

import pytest

import cloudarena
from cloudarena.base.errors import CloudarenaError, SpecError
from cloudarena.catalogue import load, read_spec
from cloudarena.contract import Result
from cloudarena.contract.spec import SPEC_VERSION
from cloudarena.experiments.compare import Comparison, compare
from cloudarena.experiments.optimization import Optimization
from cloudarena.experiments.optimize import optimize
from cloudarena.experiments.study import read_study
from cloudarena.experiments.sweep.experiment import Experiment, read_experiment
from cloudarena.scenarios import kinds
from cloudarena.version import __version__

OTHERS = [2, 0, -1, "1", 1.0, True, None, [1], "2\n3"]
FILES = {
    "study": (read_study, {"spec": "vm/toy"}),
    "sweep": (read_experiment, {"spec": "vm/toy", "replications": 2}),
}


@pytest.mark.parametrize("name", kinds())
def test_specs_of_all_kinds_have_a_version_that_changes_nothing(name):
    plain = read_spec(kinds()[name].example)[0]
    given = load({**plain, "version": SPEC_VERSION})
    assert given == load(plain)
    assert given.model_dump() == load(plain).model_dump()
    assert given.to_yaml() == load(plain).to_yaml()
    with pytest.raises(SpecError) as error:
        load({**plain, "version": 2})
    assert str(error.value).endswith(
        f"version: 2 is not allowed: 1, the version of specs that cloudarena {__version__} reads"
    )


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("file", FILES)
def test_other_versions_of_studies_and_sweeps_are_one_line(file, other):
    read, plain = FILES[file]
    read({**plain, "version": SPEC_VERSION})
    with pytest.raises(SpecError, match=r"version: .* is not allowed: 1, the version") as error:
        read({**plain, "version": other})
    assert "\n" not in str(error.value)


def test_a_version_is_no_part_of_what_is_kept_of_a_sweep():
    plain = FILES["sweep"][1]
    texts = [
        Experiment.model_validate(data).model_dump_json(exclude_unset=True)
        for data in (plain, {**plain, "version": SPEC_VERSION})
    ]
    assert texts[0] == texts[1]


def test_a_file_of_a_later_version_ends_the_command(tmp_path, cloudarena):
    file = tmp_path / "later.yaml"
    file.write_text("version: 2\nscenario: vm\n")
    code, out, err = cloudarena("run", file)
    assert (code, out) == (2, "")
    assert "version: 2 is not allowed: 1, the version of specs" in err


SAVED = {
    Result: lambda: cloudarena.simulate("vm/toy"),
    Comparison: lambda: compare("vm/toy", ["first-fit", "best-fit"], replications=2),
    Optimization: lambda: optimize({"spec": "vm/toy"}, method="monte-carlo", replications=2),
}


@pytest.mark.parametrize("kind", SAVED)
def test_a_folder_of_a_later_format_is_refused(kind, tmp_path):
    made = SAVED[kind]()
    file = made.save(tmp_path / "out") / "metrics.json"
    written = json.loads(file.read_text())
    assert written["format"] == 1
    assert "format" not in made.summary()
    assert kind.load(tmp_path / "out") == made
    for other in (2, 0, "1", True, None):
        file.write_text(json.dumps({**written, "format": other}))
        with pytest.raises(CloudarenaError, match=r"metrics\.json: format: .* at most 1") as error:
            kind.load(tmp_path / "out")
        assert "\n" not in str(error.value)
        assert f"cloudarena {__version__} wrote it" in str(error.value)
    del written["format"]
    file.write_text(json.dumps(written))
    assert kind.load(tmp_path / "out") == made
