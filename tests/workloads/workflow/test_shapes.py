"""Workflows in known shapes: what they are calibrated to, and that a seed decides everything."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.base.errors import SpecError
from cloudarena.engine.streams import stream
from cloudarena.workloads.workflow.columns import describe, lay_out
from cloudarena.workloads.workflow.shapes import SHAPES, draw_shape, draw_workflows
from cloudarena.workloads.workflow.shapes.montage import overlapping_pairs

from .cases import same

EXACT = ("montage", "cybershake", "sipht", "layered")


def figures(shape, functions, seed):
    mix = draw_workflows([shape], functions, 1, seed, resources="one-core")
    return describe(lay_out(mix.templates, mix.arrivals, mix.which))


# Functions, edges, sources, levels and width, then the run time of all functions, the critical
# path in seconds and the bytes on edges of workflows of the Pegasus gallery.
GALLERY = [
    ("montage", 25, (25, 45, 5, 9, 9), (227.75, 46.51, 322_367_526)),
    ("montage", 50, (50, 106, 8, 9, 28), (508.64, 55.76, 700_037_929)),
    ("montage", 100, (100, 233, 16, 9, 62), (1079.34, 70.72, 1_416_456_652)),
    ("montage", 200, (200, 484, 32, 9, 130), (2214.27, 96.88, 2_971_559_261)),
    ("montage", 1000, (1000, 2485, 166, 9, 662), (11378.69, 368.46, 14_577_081_814)),
    ("cybershake", 30, (30, 52, 2, 4, 14), (760.53, 221.84, 7_492_680_824)),
    ("cybershake", 200, (200, 392, 2, 4, 99), (4488.39, 193.51, 43_831_668_224)),
    ("cybershake", 1000, (1000, 1988, 4, 4, 498), (22751.94, 255.13, 265_886_695_056)),
    ("epigenomics", 24, (24, 27, 1, 8, 5), (17720.15, 5581.05, 965_760_643)),
    ("inspiral", 30, (30, 35, 7, 6, 7), (6617.07, 1335.18, 11_847_540)),
    ("inspiral", 50, (50, 60, 12, 6, 12), (11761.95, 1410.80, 19_501_285)),
    ("inspiral", 100, (100, 119, 23, 6, 24), (21023.96, 1332.76, 38_729_634)),
    ("inspiral", 1000, (1000, 1233, 229, 6, 251), (227702.63, 1413.39, 394_303_430)),
    ("sipht", 29, (29, 33, 21, 5, 21), (5546.46, 4408.92, 52_315_188)),
    ("sipht", 58, (58, 66, 42, 5, 42), (11668.92, 4639.72, 92_485_187)),
    ("sipht", 97, (97, 109, 73, 5, 73), (17379.73, 4474.97, 141_989_407)),
]


@pytest.mark.parametrize(("shape", "functions", "structure", "amounts"), GALLERY)
def test_near_the_gallery(shape, functions, structure, amounts):
    names = ("functions", "edges", "sources", "levels_max", "width_max")
    sizes = ("runtime_total_s", "critical_path_max_s", "bytes")
    drawn = [figures(shape, functions, seed) for seed in range(10)]
    assert [drawn[0][name] for name in names] == pytest.approx(structure, rel=0.06)
    means = np.mean([[one[name] for name in sizes] for one in drawn], axis=0)
    # The gallery has one draw of each, and a few long functions make its path: ours are means.
    runtime, path, size = (abs(mean / want - 1) for mean, want in zip(means, amounts, strict=True))
    assert runtime < (0.02 if shape == "montage" else 0.16)
    assert path < (0.12 if shape == "montage" else 0.21)
    assert size < (0.08 if shape == "montage" else 0.3)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_seed_decides_everything(shape):
    one, again, other = (draw_workflows([shape], 60, 8, seed, templates=2) for seed in (5, 5, 6))
    assert one.arrivals.tolist() == again.arrivals.tolist() != other.arrivals.tolist()
    assert one.which.tolist() == again.which.tolist()
    for ours, theirs in zip(one.templates, again.templates, strict=True):
        same(ours, theirs)
    assert one.templates[0].computation.tolist() != other.templates[0].computation.tolist()
    assert one.templates[0].computation.tolist() != one.templates[1].computation.tolist()
    names = [template.name for template in one.templates]
    assert names == [f"{shape}-60-0", f"{shape}-60-1"]


@pytest.mark.parametrize("shape", SHAPES)
@given(functions=st.integers(1, 700), seed=st.integers(0, 3))
def test_any_size(shape, functions, seed):
    functions = max(functions, SHAPES[shape].least)
    workflow = draw_shape(shape, functions, stream(seed, "workflow"))
    drawn = len(workflow.runtime_s)
    assert functions - (0 if shape in EXACT else 3) <= drawn <= functions
    assert len(set(workflow.function_names)) == drawn
    assert (workflow.runtime_s > 0).all()
    parents, children, sizes = workflow.edges.T
    # Numbered so that parents come first: no circles.
    assert (parents < children).all()
    assert (sizes >= 0).all()
    assert len({*zip(parents.tolist(), children.tolist(), strict=True)}) == len(parents)
    # Everything is part of it: a function without edges there is only in a layered one.
    if shape != "layered":
        assert len(np.unique(workflow.edges[:, :2])) == drawn


@pytest.mark.parametrize("shape", SHAPES)
def test_the_least_size(shape):
    least = SHAPES[shape].least
    assert draw_shape(shape, least, stream(0, "workflow")).name == f"{shape}-{least}"
    with pytest.raises(
        SpecError, match=rf"functions: {least - 1} is not .* from {least} to .* {shape}"
    ):
        draw_shape(shape, least - 1, stream(0, "workflow"))


def test_run_times_are_scaled():
    one, tenth = (
        draw_shape("sipht", 50, stream(0, "workflow"), runtime_scale=scale) for scale in (1.0, 0.1)
    )
    assert tenth.runtime_s == pytest.approx(one.runtime_s / 10)
    assert tenth.edges.tolist() == one.edges.tolist()


def test_another_shape_beside_it_changes_nothing():
    alone = draw_workflows(["montage"], 60, 5, 0)
    beside = draw_workflows(["sipht", "montage"], 60, 5, 0)
    same(alone.templates[0], beside.templates[1])
    assert alone.arrivals.tolist() == beside.arrivals.tolist()


def test_templates_are_drawn_alike():
    mix = draw_workflows(["montage", "cybershake", "sipht"], 30, 30_000, 0)
    assert np.bincount(mix.which) / 30_000 == pytest.approx([1 / 3] * 3, abs=0.01)
    assert np.diff(mix.arrivals).mean() == pytest.approx(20, rel=0.03)
    assert draw_workflows(["sipht"], 30, 3, 0, arrivals="even", rate=0.1).arrivals.tolist() == [
        0,
        10,
        20,
    ]


def test_nearest_images_overlap():
    first, second = overlapping_pairs(9, 12)
    # A grid of three by three has twelve pairs side by side.
    assert [*zip(first.tolist(), second.tolist(), strict=True)] == [
        (0, 1), (1, 2), (3, 4), (4, 5), (6, 7), (7, 8),
        (0, 3), (1, 4), (2, 5), (3, 6), (4, 7), (5, 8),
    ]  # fmt: skip
    assert len(overlapping_pairs(8, 28)[0]) == 28


def test_layered_functions_wait_for_the_level_above():
    workflow = draw_shape("layered", 900, stream(1, "workflow"))
    mix = draw_workflows(["layered"], 900, 1, 1)
    told = describe(lay_out(mix.templates, mix.arrivals, mix.which))
    assert told["levels_max"] == 30
    assert 1.3 < len(workflow.edges) / 900 < 1.6
    assert np.median(workflow.runtime_s) == pytest.approx(1, rel=0.15)
    assert np.median(workflow.edges[:, 2]) == pytest.approx(1e6, rel=0.25)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"shapes": ["montag"]}, "shape: 'montag' is not .* one of montage, .* mean 'montage'"),
        ({"shapes": []}, "shapes: at least one is needed"),
        ({"workflows": 0}, "workflows: 0 is not allowed: at least 1"),
        ({"templates": 0}, "templates: 0 is not allowed: at least 1"),
        ({"functions": 10**8}, "functions: 100000000 is not allowed"),
        ({"runtime_scale": 0.0}, "runtime_scale: 0 is not allowed: a number more than 0"),
        ({"arrivals": "daily"}, "arrivals: 'daily' is not allowed"),
        ({"rate": -1.0}, "rate: -1 is not allowed"),
        ({"resources": "none"}, "resources: 'none' is not allowed"),
        ({"single_core_speed": 0}, "single_core_speed: 0 is not allowed"),
        ({"seed": -1}, "seed: -1 is not allowed"),
    ],
)
def test_parameters_are_checked(arguments, words):
    usual = {"shapes": ["montage"], "functions": 50, "workflows": 2, "seed": 0}
    with pytest.raises(SpecError, match=words):
        draw_workflows(**{**usual, **arguments})
