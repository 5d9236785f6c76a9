"""Reports: tables, charts, pages, progress, and one page of many results."""
