"""The slow and obvious model that the kernel must equal, without a network and with one."""

from .network import NetworkReference
from .run import Reference

__all__ = ["NetworkReference", "Reference"]
