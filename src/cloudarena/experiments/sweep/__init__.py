"""Many runs: what is run (``plan``), where (``executors``), and what is kept (``store``)."""
