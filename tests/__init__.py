"""The tests of memwb; helpers for tests are imported as ``tests.<module>``."""
