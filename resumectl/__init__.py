"""Make any per-item shell command resumable."""

__version__ = "0.1.0"
