"""Compile kernels: everything that configures, caches, links or extends Numba, and uses its internals."""
