"""Extraction: how finished turns become entries. Triggers and types; see :mod:`memwb.memory` for the names."""
