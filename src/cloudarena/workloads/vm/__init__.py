"""Sources of VMs and of their CPU readings."""
