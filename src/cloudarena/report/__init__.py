"""What a comparison says, for people: tables in a terminal and one self-contained page."""
