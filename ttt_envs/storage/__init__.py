"""Storage, and input from elsewhere: files written whole, checked JSON, arrays, solved tables, extras."""
