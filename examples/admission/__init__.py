"""One queue: accept or reject each customer (Naor's queue)."""

from cloudarena.contract import Kind, Plot

KIND = Kind(
    name="admission",
    package=__name__,
    description="which customers a single server accepts, when waiting costs",
    unit_of_work="accepted customers",
    headline="profit_usd",
    default_policy="at-most",
    example="admission/naor",
    toy="admission/toy",
    small={"workload.customers": 200},
    plots=(Plot("Customers in the system", "customers", "arrival_s", "found", "customers"),),
)
