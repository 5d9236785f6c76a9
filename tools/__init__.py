"""Benchmarks and pictures of the project itself."""
