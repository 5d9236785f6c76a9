"""Tools for maintainers: benchmarks, data sets, pictures and the documentation's site."""
