"""Many runs: one at a time, or policies side by side."""
