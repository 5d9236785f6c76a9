"""Scripts: self-play training, tournaments, the demo, benchmarks. Each is run as `python -m training.<name> --help`."""
