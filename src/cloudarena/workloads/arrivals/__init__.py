"""When things arrive: processes, rates over time, and public traces of arrivals."""
