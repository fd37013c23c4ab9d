"""reuselens: how far apart a program reuses its data, and why it misses in its caches.

``reuselens.triton`` runs Triton kernels without a GPU, and reports what they do with memory.
"""

from ._native import __version__

__all__ = ["__version__"]
