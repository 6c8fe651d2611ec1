"""How fast memwb is, beside the Strands SDK, pandas and an empty kernel; run by hand: see ``run.py``."""
