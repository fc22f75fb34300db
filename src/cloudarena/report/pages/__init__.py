"""What is on the page of each thing that is measured: a module for each, with ``make_sheet``."""
