import dataclasses
import io

import numpy as np
import pytest
from rich.console import Console

from cloudarena.base.measures import AtLeast
from cloudarena.contract import Result
from cloudarena.report.numbers import UNKNOWN
from cloudarena.report.terminal.comparison import comparison_tables
from cloudarena.report.terminal.run import result_table

TEN = tuple(f"policy-with-number-{k}" for k in range(10))


def printed(renderables, width, encoding="utf-8"):
    """What a terminal of a width and an encoding shows."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=stream, width=width)
    for renderable in renderables:
        console.print(renderable)
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


def squeezed(text):
    return " ".join(text.split())


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("policies", [("best-fit",), ("best-fit", "first-fit", "random"), TEN])
@pytest.mark.parametrize("every_metric", [False, True])
def test_nothing_is_cut_off_at_any_width(made, width, policies, every_metric):
    comparison = made(policies)
    text = printed(comparison_tables(comparison, every_metric), width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    shown = [m.name for m in comparison.scenario.kind.metrics] if every_metric else ["profit_usd"]
    for name in (*policies, *shown):
        assert name in text
    assert comparison.conclusion() in squeezed(text)


def test_highlights_come_first_and_alone_unless_all_are_asked_for(made):
    comparison = made()
    text = printed(comparison_tables(comparison), 120)
    assert "delay_ticks" not in text
    text = printed(comparison_tables(comparison, every_metric=True), 120)
    assert text.index("mean_allocation") < text.index("delay_ticks")


def test_means_have_intervals_arrows_and_stars_for_the_leaders(made):
    comparison = made()
    text = printed(comparison_tables(comparison), 120)
    row = next(line for line in text.splitlines() if line.startswith("profit_usd ↑"))
    assert row.count("±") == 3
    assert row.count("*") == 1
    assert "failed ↓" in text


def test_differences_carry_their_verdict(made):
    text = printed(comparison_tables(made()), 120)
    differences = text[text.index("Difference from best-fit") :]
    row = next(line for line in differences.splitlines() if line.startswith("failed ↓"))
    assert row.count("worse") == 2
    row = next(line for line in differences.splitlines() if line.startswith("energy_kwh_per"))
    assert "no difference" in row


def test_one_replication_has_no_intervals_stars_or_verdicts(made):
    text = printed(comparison_tables(made(replications=1)), 120)
    assert "±" not in text
    assert "*" not in text
    assert "worse" not in text
    assert "too few to call a winner" in squeezed(text)


def test_one_policy_has_no_differences(made):
    assert "Difference" not in printed(comparison_tables(made(("best-fit",))), 80)


def test_replications_that_are_all_the_same_run_are_told(made):
    comparison = made(replications=2)
    values = {name: rows[:, [0, 0]] for name, rows in comparison.values.items()}
    text = printed(comparison_tables(dataclasses.replace(comparison, values=values)), 80)
    assert "All replications gave the same numbers" in squeezed(text)
    assert "All replications" not in printed(comparison_tables(comparison), 80)


def test_there_are_no_leaders_where_nobody_falls_behind_or_nothing_is_better(made):
    comparison = made()
    metrics = {metric.name: metric for metric in comparison.scenario.kind.metrics}
    assert comparison.starred(metrics["failed"]) == ("best-fit",)
    assert comparison.starred(metrics["killed"]) == ()
    assert comparison.starred(metrics["requests"]) == ()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_unicode_gets_plain_characters(made, encoding):
    text = printed(comparison_tables(made(("bäst-fit", "first-fit", "random"))), 80, encoding)
    assert "+/-" in text
    assert "failed v" in text
    assert "b?st-fit" in text


def test_markup_in_names_is_printed_as_it_is(made):
    assert "[red]fit" in printed(comparison_tables(made(("[red]fit", "b"))), 120)


def test_a_run_shows_each_metric_with_its_meaning(scenario):
    metrics = {metric.name: 0.0 for metric in scenario.kind.metrics}
    metrics.update(requests=10_000, energy_kwh=9448.123, own_metric=np.nan, failed=AtLeast(12))
    result = Result(metrics, {}, "vm/azure-like-10k", 5, "best-fit")
    text = squeezed(printed([result_table(result, scenario)], 120))
    assert "vm/azure-like-10k: best-fit, seed 5" in text
    assert "requests 10,000 VM requests that arrived" in text
    assert "energy_kwh 9,448.1 lower The energy of all machines" in text
    assert f"own_metric {UNKNOWN}" in text
    assert "failed > 12" in text


def test_the_terminal_marks_who_is_out_what_has_no_value_and_what_is_a_bound(made):
    comparison = made(("lazy", "best-fit", "worst-fit"))
    comparison.values["unserved_share"][0] = 1.0
    comparison.values["income_usd"][0] = np.nan
    comparison.values["income_usd"][1, 2] = np.nan
    comparison.values["profit_usd"][0] = 1e9
    bounds = {"failed": np.array([[False] * 4, [True] * 4, [False] * 4])}
    comparison = dataclasses.replace(comparison, bounds=bounds)
    text = printed(comparison_tables(comparison), 120)
    words = squeezed(text)
    assert "lazy ⊘" in words
    assert "⊘ out of the running" in words
    assert f"{UNKNOWN} there is no value" in words
    assert "> at least, since work had not finished" in words
    assert "(3 of 4)" in words
    row = next(line for line in text.splitlines() if line.startswith("profit_usd"))
    assert row.count("*") == 1
    assert row.index("*") > row.index("1,000,000,000")
    assert "comparisons together (Holm)" in words
    plain = printed(comparison_tables(comparison), 120, "ascii")
    assert "lazy x" in plain
    assert "?" not in plain


def test_a_verdict_that_rests_on_no_test_is_told_from_one_that_does(made):
    comparison = made(replications=3)
    comparison.values["failed"][:2] = [[5.0] * 3, [9.0] * 3]
    comparison.values["profit_usd"][:2] = comparison.values["profit_usd"][:2, :1]
    for name in comparison.values:
        comparison.values[name][:2] = comparison.values[name][:2, :1]
    text = squeezed(printed(comparison_tables(comparison), 120))
    assert "A verdict without ± is no test: the difference is the same in all replications." in text
