"""Bridges to agent SDKs. An SDK is imported inside their functions alone, and only where reading is not enough."""
