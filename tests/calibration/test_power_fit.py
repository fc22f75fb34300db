"""Power models from measurements: what is fitted, how it is judged, what it cannot tell."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cloudarena.base.errors import CloudarenaError
from cloudarena.calibration import PowerFit, fit_power, read_measurements


def written(path, columns):
    """A CSV file of columns."""
    lines = [",".join(columns)]
    lines += [",".join(map(repr, map(float, row))) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def measured(tmp_path, cpu_w, rows=200, noise=0.0, **others):
    """What a device draws whose CPU draws ``cpu_w(u)``: 5 W idle, 9 W GPU, 0.002 W a MB."""
    rng = np.random.default_rng(1)
    columns = {"cpu": rng.uniform(0, 1, rows), "gpu": rng.uniform(0, 1, rows)}
    columns["memory_mb"] = rng.uniform(100, 4000, rows)
    watts = 5 + cpu_w(columns["cpu"]) + 9 * columns["gpu"] + 0.002 * columns["memory_mb"]
    columns |= {name: column(rng, columns) for name, column in others.items()}
    columns["watts"] = watts + noise * rng.normal(size=rows)
    return written(tmp_path / "measurements.csv", columns)


@pytest.mark.parametrize(
    ("model", "cpu_w", "figures"),
    [
        ("linear", lambda u: 10 * u, {"idle_w": 5, "cpu_w": 10}),
        ("curve", lambda u: 10 * (2 * u - u**1.6), {"idle_w": 5, "busy_w": 15, "r": 1.6}),
        ("points", lambda u: np.interp(u, [0, 0.3, 0.4, 1], [0, 0, 8, 9]), {"watts at 30 %": 5}),
    ],
)
def test_the_model_that_made_the_data_is_found(tmp_path, model, cpu_w, figures):
    done = fit_power(read_measurements(measured(tmp_path, cpu_w), "orin"))
    assert done.chosen == model
    found = done.fit.figures()
    for name, value in (figures | {"accelerator_w": 9, "memory_w_per_mb": 0.002}).items():
        assert found[name] == pytest.approx(value, rel=1e-4), name
    assert done.quality.r2 == pytest.approx(1.0)
    assert done.quality.held_out_mape < 1e-5
    assert not done.warnings


def test_coefficients_are_never_negative_and_power_never_falls(tmp_path):
    file = measured(
        tmp_path, lambda u: 3 * np.sin(5 * u), noise=0.5, disk=lambda rng, _: rng.random(200)
    )
    done = fit_power(read_measurements(file, "orin"), "points")
    watts = [w for _, w in done.fit.points()]
    assert watts == sorted(watts)
    assert (done.fit.others >= 0).all()
    for fit in done.fits.values():
        assert fit.idle_w >= 0
        assert (fit.cpu >= 0).all()


def test_held_out_errors_are_those_of_the_noise_and_intervals_hold_the_truth(tmp_path):
    done = fit_power(read_measurements(measured(tmp_path, lambda u: 10 * u, 600, 0.5), "orin"))
    assert done.chosen == "linear"
    assert done.quality.held_out_rmse_w == pytest.approx(0.5, rel=0.2)
    assert len(done.held_out) == 150
    for name, truth in {"idle_w": 5, "cpu_w": 10, "accelerator_w": 9}.items():
        low, high = done.intervals[name]
        assert low < truth < high
        assert high - low < 0.6


def test_what_is_not_identified_is_left_out_with_a_warning(tmp_path):
    file = measured(
        tmp_path,
        lambda u: 10 * u,
        disk=lambda rng, columns: np.full(200, 0.3),
        network=lambda rng, columns: 0.5 * columns["cpu"] + 0.25 * columns["gpu"],
    )
    done = fit_power(read_measurements(file, "orin"))
    disk, network = done.warnings
    assert disk.startswith("disk_w is not identified: it was measured at 0.3 alone")
    assert network.startswith("network_w is not identified: it follows from cpu_w")
    assert set(done.block()["power"]["devices"]["orin"]) == {
        *("model", "idle_w", "cpu_w", "accelerator_w", "memory_w_per_mb")
    }


def test_what_others_nearly_tell_and_what_nobody_measured_is_said(tmp_path):
    rng = np.random.default_rng(0)
    cpu = rng.uniform(0.3, 0.6, 80)
    columns = {"cpu": cpu, "gpu": np.clip(cpu + 0.02 * rng.normal(size=80), 0, 1)}
    columns["watts"] = 5 + 10 * cpu + 2 * columns["gpu"]
    done = fit_power(read_measurements(written(tmp_path / "m.csv", columns), "orin"))
    words = " ".join(done.warnings)
    assert "accelerator_w is hardly identified" in words
    assert "idle power is extrapolated: the least cpu that was measured is 0.3" in words
    assert "full power is extrapolated" in words


@pytest.mark.parametrize(
    ("idle", "slope", "words"),
    [(20, -10, "power does not rise with cpu"), (-4, 30, "idle_w is 0"), (8, 0, "does not rise")],
)
def test_power_that_no_device_draws_is_said(tmp_path, idle, slope, words):
    cpu = np.random.default_rng(0).uniform(0.2, 1, 60)
    columns = {"cpu": cpu, "watts": idle + slope * cpu}
    done = fit_power(read_measurements(written(tmp_path / "m.csv", columns), "orin"))
    assert words in " ".join(done.warnings)


def test_groups_are_held_out_whole(tmp_path):
    rng = np.random.default_rng(0)
    columns = {"workload": np.repeat(np.arange(8), 10), "cpu": rng.uniform(0, 1, 80)}
    columns["watts"] = 5 + 10 * columns["cpu"]
    file = written(tmp_path / "m.csv", columns)
    done = fit_power(read_measurements(file, "orin", "workload"))
    held = {done.measurements.group[row] for row in done.held_out}
    assert len(held) == 2
    assert len(done.held_out) == 20


def test_steps_of_a_benchmark_become_its_points(tmp_path):
    levels = np.repeat(np.arange(11) / 10, 3)
    columns = {"cpu_percent": 100 * levels, "watts": 50 + 30 * levels**2}
    done = fit_power(read_measurements(written(tmp_path / "m.csv", columns), "server"))
    assert done.chosen == "points"
    expected = [(u, 50 + 30 * u**2) for u in np.arange(11) / 10]
    assert np.array(done.fit.points()) == pytest.approx(np.array(expected))


def test_what_is_saved_is_what_is_loaded(tmp_path):
    done = fit_power(read_measurements(measured(tmp_path, lambda u: 10 * u, 40, 0.2), "orin"))
    folder = done.save(tmp_path / "out")
    assert PowerFit.load(folder) == done
    assert (folder / "power.yaml").read_text() == done.yaml()
    assert "measured less predicted" in (folder / "report.html").read_text()


def test_the_command_prints_figures_residuals_and_the_block(tmp_path, cloudarena):
    file = measured(tmp_path, lambda u: 10 * u, noise=0.1)
    code, shown, _ = cloudarena("power", "fit", file, "--device", "orin")
    assert code == 0
    assert "orin: linear, R²" in shown
    assert "residuals, measured less predicted" in shown
    assert "orin: {model: linear, idle_w: " in shown
    _, plain, _ = cloudarena("power", "fit", file, "--device", "orin", "--json")
    found = json.loads(plain)
    assert found["power"]["devices"]["orin"]["cpu_w"] == pytest.approx(10, rel=0.05)
    assert found["models"]["linear"]["held_out_mape"] < 0.02
    code, _, error = cloudarena("power", "fit", tmp_path / "gone.csv", "--device", "orin")
    assert (code, error.endswith("gone.csv: does not exist\n")) == (2, True)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"cpu": [0.1] * 12}, "column 'watts' is missing"),
        ({"watts": [1] * 12}, "column 'cpu' is missing"),
        ({"cpu": [0.1] * 12, "watts": [1] * 12}, "cpu: 0.1 in all rows is not allowed"),
        ({"cpu": [0.1, 0.2], "watts": [1, 2]}, "2 rows are not allowed: at least 10"),
        (
            {"cpu": [10, 20], "watts": [1, 2]},
            "row 1: cpu: 10 is not allowed: 0 to 1. Is it cpu_percent?",
        ),
        ({"cpu": [0.1, 0.2], "watts": [1, 0]}, "row 2: watts: 0 is not allowed: more than 0"),
        (
            {"cpu": [0.1], "cpu_percent": [10], "watts": [1]},
            "column 'cpu_percent' is not allowed beside 'cpu'",
        ),
    ],
)
def test_bad_measurements_are_named(tmp_path, columns, message):
    file = written(tmp_path / "m.csv", columns)
    with pytest.raises(CloudarenaError) as error:
        fit_power(read_measurements(file, "orin"))
    assert message in str(error.value)


def test_rows_of_a_device_are_taken_from_a_file_of_many(tmp_path):
    file = tmp_path / "m.csv"
    rows = [f"{'nx' if k % 2 else 'pi'},{k / 40},{10 + k if k % 2 else 3}" for k in range(40)]
    file.write_text("device,cpu,watts\n" + "\n".join(rows) + "\n")
    done = fit_power(read_measurements(file, "nx"))
    assert done.fit.figures() == pytest.approx({"idle_w": 10, "cpu_w": 40})
    with pytest.raises(CloudarenaError, match="has no rows of 'nxx': one of nx, pi"):
        read_measurements(file, "nxx")
