"""Power models of devices, fitted to what a meter read."""

from cloudarena.calibration.measurements import Measurements, read_measurements
from cloudarena.calibration.power_fit import PowerFit, fit_power

__all__ = ["Measurements", "PowerFit", "fit_power", "read_measurements"]
