"""Pegasus DAX 2.1."""

import gzip

import pytest

from cloudarena.base.errors import TraceError
from cloudarena.engine.streams import stream
from cloudarena.workloads.workflow.columns import describe, lay_out
from cloudarena.workloads.workflow.dax import read_dax
from cloudarena.workloads.workflow.timed import template_of

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" jobCount="99" childCount="0">
"""
JOBS = """<job id="ID00000" namespace="S" name="pack" version="1.0" runtime="0.07">
  <uses file="all.zip" link="output" register="true" transfer="true" type="data" size="202"/>
</job>
<job id="first" name="make" runtime="158.10">
  <uses file="raw" link="input" size="20058636289"/>
  <uses file="x" link="output" size="1024"/>
  <uses file="y" link="output" size="2048"/>
  <uses file="x" link="output" size="7"/>
  <uses file="nobody reads it" link="output"/>
</job>
<job id="a b;c" name="use" runtime="0">
  <uses file="x" link="input" size="999"/>
  <uses file="y" link="inout" size="4096"/>
</job>
"""
WAITS = """<child ref="ID00000"><parent ref="first"/><parent ref="a b;c"/></child>
<child ref="a b;c"><parent ref="first"/><parent ref="first"/></child>
</adag>
"""


@pytest.fixture
def dax(tmp_path):
    """Writes a DAX and returns its path."""

    def build(text=HEAD + JOBS + WAITS, name="small.dax"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return build


@pytest.mark.parametrize("name", ["small.dax", "small.xml", "small.xml.gz"])
def test_by_hand(dax, tmp_path, name):
    workflow = read_dax(dax(name=name))
    assert workflow.name == "small"
    assert workflow.function_names == ("ID00000", "first", "a b;c")
    assert workflow.runtime_s.tolist() == [0.07, 158.1, 0]
    assert workflow.memory_req.tolist() == workflow.parallelism.tolist() == [0, 0, 0]
    # No common file; nothing that the packer reads; both files, by the size the parent says.
    assert workflow.edges.tolist() == [[1, 0, 0], [2, 0, 0], [1, 2, 1024 + 2048]]
    assert [file.name for file in tmp_path.iterdir()] == [name]


# The workflow of Topcuoglu et al. 2002, with run times on the first processor.
RUNTIMES = [14, 13, 11, 13, 12, 13, 7, 5, 18, 21]
DATA = {
    (1, 2): 18, (1, 3): 12, (1, 4): 9, (1, 5): 11, (1, 6): 14, (2, 8): 19, (2, 9): 16, (3, 7): 23,
    (4, 8): 27, (4, 9): 23, (5, 9): 13, (6, 8): 15, (7, 10): 17, (8, 10): 11, (9, 10): 13,
}  # fmt: skip


def test_a_published_workflow(dax):
    jobs = []
    for job, runtime in enumerate(RUNTIMES, 1):
        uses = [
            f'<uses file="f{ends}" link="{link}" size="{size}"/>'
            for ends, size in DATA.items()
            for link, end in (("output", ends[0]), ("input", ends[1]))
            if end == job
        ]
        jobs.append(f'<job id="{job}" runtime="{runtime}">{"".join(uses)}</job>')
    waits = [f'<child ref="{b}"><parent ref="{a}"/></child>' for a, b in DATA]
    path = dax(HEAD + "\n".join([*jobs, *waits]) + "</adag>")
    template = template_of(read_dax(path), stream(0, "resources"), "one-core")
    figures = describe(lay_out([template], [0], [0]))
    assert (figures["functions"], figures["edges"], figures["bytes"]) == (10, 15, 241)
    assert (figures["sources"], figures["levels_max"], figures["width_max"]) == (1, 4, 5)
    assert figures["runtime_total_s"] == pytest.approx(127)
    assert figures["critical_path_max_s"] == pytest.approx(66)


def test_a_prefix_of_the_namespace(dax):
    text = '<d:adag xmlns:d="x"><d:job id="1" runtime="2"/></d:adag>'
    assert read_dax(dax(text)).runtime_s.tolist() == [2]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (' runtime="158.10"', "", "line 6: job 'first': runtime is missing"),
        ("158.10", "long", "line 6: runtime: 'long' is not allowed: a number, at least 0"),
        ("158.10", "-1", "line 6: runtime: '-1' is not allowed"),
        ("158.10", "nan", "line 6: runtime: 'nan' is not allowed"),
        ('id="first" ', "", "line 6: job: id is missing"),
        ('id="first"', 'id="ID00000"', "line 6: job 'ID00000' is defined twice"),
        ('size="1024"', 'size="1 kB"', "line 8: size: '1 kB' is not allowed"),
        ('size="1024"', "", "job 'first': size of file 'x' is missing"),
        ('file="raw" ', "", "line 7: uses: file is missing"),
        ('link="inout"', 'link="both"', "line 15: link: 'both' is not allowed: one of input, out"),
        ('<parent ref="a b;c"/>', '<parent ref="a b"/>', "line 17: job 'a b' is not defined. Did"),
        ('<child ref="a b;c">', '<child ref="x">', "line 18: job 'x' is not defined"),
        ('<child ref="a b;c">', "<child>", "line 18: child: ref is missing"),
        ("</adag>", "", "line 20: is not XML: no element found"),
        ("<adag", "<dag", "line 2: is not a DAX: begins with 'dag', not 'adag'"),
        (JOBS + WAITS, "</adag>", "has no jobs"),
    ],
)
def test_mistakes(dax, old, new, words):
    text = HEAD + JOBS + WAITS
    assert old in text
    changed = text.replace(old, new, 1) if old != "<adag" else text.replace("adag", "dag")
    with pytest.raises(TraceError, match=rf"small\.dax(: |, ){words}"):
        read_dax(dax(changed))


def test_a_circle_and_sizes_that_cannot_be(dax):
    circle = WAITS.replace("</adag>", '<child ref="first"><parent ref="ID00000"/></child></adag>')
    path = dax(HEAD + JOBS + circle)
    with pytest.raises(
        TraceError, match=r"small\.dax: workflow 'small': .* circle: ID00000, first"
    ):
        template_of(read_dax(path), stream(0, "resources"), source=str(path))
    workflow = read_dax(dax((HEAD + JOBS + WAITS).replace("2048", "1e300")))
    with pytest.raises(TraceError, match=r"edges\[2\]: .*: bytes are from 0 to"):
        template_of(workflow, stream(0, "resources"))


def test_bad_files(dax, tmp_path):
    with pytest.raises(TraceError, match=r"nowhere\.dax: does not exist"):
        read_dax(tmp_path / "nowhere.dax")
    with pytest.raises(TraceError, match="is a folder"):
        read_dax(tmp_path)
    broken = dax(name="broken.dax.gz")
    broken.write_bytes(b"not packed")
    with pytest.raises(TraceError, match=r"broken\.dax\.gz: cannot be read"):
        read_dax(broken)
