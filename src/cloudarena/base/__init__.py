"""What everything stands on: errors, checks, files, statistics."""
