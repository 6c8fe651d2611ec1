"""The Strands Agents SDK, 1.48 to the newest: read its agents, and give them memwb's memory.

Reading goes by attributes and imports no SDK. What becomes part of an agent imports it, inside its functions.
"""

from .listing import listing
from .models import model, scripted
from .plugin import StrandsPlugin, plugin
from .reading import Reading, is_strands, placement, read

__all__ = ["Reading", "StrandsPlugin", "is_strands", "listing", "model", "placement", "plugin", "read", "scripted"]
