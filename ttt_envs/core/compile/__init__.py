"""Compiling kernels: all that sets, caches, links or extends Numba, which is documented by nobody."""
