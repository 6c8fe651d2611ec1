"""Where sessions are kept: in memory, in a SQLite database, or in files."""
