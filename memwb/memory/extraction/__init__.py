"""Extraction: how finished turns become entries, in the background; see :mod:`memwb.memory` for the names."""
