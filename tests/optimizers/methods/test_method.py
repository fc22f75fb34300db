"""What a method declares is what it takes, and what people are told of it."""

import numpy as np
import pytest

from cloudarena.base.errors import SpecError
from cloudarena.optimizers import METHODS, Method, los, ocba

from ..problems import NormalProblem


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_each_has_a_line_and_each_option_a_sentence(method):
    assert isinstance(method, Method)
    assert method.description.endswith(".")
    assert len(method.description) <= 100
    assert "confidence" in method.option_names
    assert "evaluations" in method.option_names
    for name, info in method.options.model_fields.items():
        assert info.description, name
        assert info.description[0].isupper(), name
        assert info.description.endswith("."), name


def test_an_option_that_a_method_does_not_have_names_those_it_has():
    problem = NormalProblem([0.0, 1.0], 0.1)
    words = "tops: is not allowed for method ocba: it has confidence, within, evaluations, .*first"
    with pytest.raises(SpecError, match=words):
        ocba(problem, evaluations=40, tops=1)
    with pytest.raises(SpecError, match=r"top: is required for method ocba-m"):
        METHODS["ocba-m"](problem, evaluations=40)
    with pytest.raises(SpecError, match=r"Did you mean 'rough'\?"):
        los(problem, ruogh=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rough": 1}, "rough: 1 is not allowed: at least 2"),
        ({"rough": True}, "rough: True is not allowed"),
        ({"rough": 2.5}, "rough: 2.5 is not allowed: a whole number"),
        ({"rough": "many"}, "rough: 'many' is not allowed: a whole number"),
        ({"confidence": 1.0}, "confidence: 1.0 is not allowed: less than 1"),
        ({"confidence": float("nan")}, "confidence: nan is not allowed"),
        ({"within": True}, "within: True is not allowed"),
        ({"within": "-1%"}, "within: '-1%' is not allowed: a share such as 1%"),
        ({"within": float("nan")}, "within: nan is not allowed: a share such as 1%"),
        ({"size": 0}, "size: 0 is not allowed: screening, table, or a whole number"),
        ({"size": 3}, "size: 3 is not allowed: a whole number, at least 1 and at most 2"),
        ({"final_rule": 7}, "final_rule: 7 is not allowed: one of first_objective"),
        ({"evaluations": 0}, "evaluations: 0 is not allowed: at least 1"),
    ],
)
def test_bad_options_are_one_line_before_anything_is_evaluated(options, message):
    class Untouched(NormalProblem):
        def simulate(self, designs, replications):
            raise AssertionError

    with pytest.raises(SpecError) as error:
        los(Untouched([0.0, 1.0], 0.1), **options)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_numbers_may_be_numpys():
    problem = NormalProblem([0.0, 1.0, 2.0], 0.1)
    plain = los(problem, rough=5, replications=20, confidence=0.9, size=2)
    numpys = los(
        problem,
        rough=np.int64(5),
        replications=np.int32(20),
        confidence=np.float64(0.9),
        size=np.int64(2),
    )
    assert plain.summary() == numpys.summary()
