"""Storage and untrusted input: atomic files, checked JSON, arrays, solved tables, optional packages."""
