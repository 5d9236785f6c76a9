"""Compile kernels: all code that configures, caches, links or extends Numba, or uses its internals."""
