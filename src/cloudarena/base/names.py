"""Names that several rooms agree on."""

USERS = "cloudarena_user_"
"""How the modules of users' files begin: no other process can import them."""
