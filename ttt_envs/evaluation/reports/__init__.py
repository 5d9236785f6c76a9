"""Reports of measurements: tables, charts and pages, their statistics, and a progress bar."""
