"""Names that several rooms agree on."""

USERS = "cloudarena_user_"
"""How the modules of users' files begin: no other process can import them."""
KERNEL_THREAD = "cloudarena kernel"
"""The name of threads in which compiled code runs."""
UNSERVED = "unserved_share"
"""The metric that every kind has: the share of its work that was not served, lower is better."""
