"""The methods: each takes a problem and its options, and returns a selection."""
