"""Tests in a real JupyterLab; `lab.py` is the harness, `conftest.py` its fixtures."""
