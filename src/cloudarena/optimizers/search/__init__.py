"""Sequential search: a model of what was measured says where to look next."""
