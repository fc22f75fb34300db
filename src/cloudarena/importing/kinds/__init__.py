"""What each kind of import makes of rows: the tables of a trace, and a spec."""
