"""What is kept on disk or comes from elsewhere: files written whole, checked JSON, arrays, solved tables, extras."""
