"""Environments and batches beside a plain model: every call is predicted, and compared with what it does.

A model keeps the position by its own means: it plays with the rules' kernels alone. A call must either raise the error
that the documentation names and change nothing, or end where the model ends. What differs is an AssertionError. The
tests of `make fuzz` make the calls.
"""
