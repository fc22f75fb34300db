"""cloudarena: which policy should run my cloud, and what will it cost?"""

__version__ = "0.1.0"
