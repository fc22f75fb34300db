"""Files that other tools export become a trace and a spec that runs.

A file becomes a sheet of texts (``sheet``), a preset or its names of columns say what it is
(``presets``, ``mapping``), texts become numbers (``units``), rows that cannot be used are listed
(``rows``), what the file does not tell is guessed and marked (``guess``), and all of it is written
(``write``).
"""
