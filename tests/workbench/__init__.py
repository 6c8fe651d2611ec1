"""The workbench without a screen."""
