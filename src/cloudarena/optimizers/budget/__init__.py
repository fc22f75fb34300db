"""Evaluations: counted, remembered, allocated round by round, and what they tell of rivals."""
