"""Pages say metrics by their labels, and amounts with their units."""

import pytest

from cloudarena.report.spoken import NO_BREAK, spoken
from cloudarena.scenarios import kinds


@pytest.mark.parametrize(
    ("kind", "sentence", "said"),
    [
        ("vm", "No difference in profit_usd (95 %).", "No difference in profit (95 %)."),
        ("vm", "There is no winner by cost_usd.", "There is no winner by cost."),
        ("vm", "profit_usd, anova.", "Profit, anova."),
        ("vm", "It trades: profit_usd 17,821 (of 2)", "It trades: profit $17,821 (of 2)"),
        ("vm", "It has energy_kwh 5.2e+03, 3", "It has energy 5.2e+03 kWh, 3"),
        ("vm", "It keeps unserved_share <= 0.001 and", "It keeps unserved ≤ 0.001 and"),
        ("vm", "Give energy_kwh<=-3", "Give energy ≤ -3 kWh"),
        ("vm", "cost_usd@q90, a quantile", "cost_usd@q90, a quantile"),
        ("vm", "Set prices.cost_usd=3, a-cost_usd", "Set prices.cost_usd=3, a-cost_usd"),
        ("vm", "Two failed, served 4 at once", "Two failed, served 4 at once"),
        ("vm", "cost_usd 5% less", "Cost 5% less"),
        ("tiers", "Keep sla_minutes_ok >= 0.9", "Keep periods that keep the SLA ≥ 0.9"),
        ("jobs", "of cost_usd and work", "of cost and work"),
    ],
)
def test_identifiers_become_labels(kind, sentence, said):
    assert spoken(sentence, kinds()[kind].metric).replace(NO_BREAK, " ") == said


def test_without_metrics_a_sentence_is_as_it_was():
    assert spoken("by cost_usd", {}) == "by cost_usd"
