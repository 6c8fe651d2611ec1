"""The Strands Agents SDK, 1.48 to the newest: read its agents, record them, and give them memwb's memory.

Reading goes by attributes and imports no SDK. What becomes part of an agent imports it, inside its functions.
"""

from .listing import listing
from .models import Asked, StrandsModel, model, scripted
from .plugin import StrandsPlugin, plugin
from .reading import Reading, installed, is_strands, manager_of, placement, read
from .recording import RecordedCall, Recording, attach, difference
from .scores import MEANINGS, Measure, measure
from .sent import sent
from .tools import memory_tools
from .writing import SdkWriter

__all__ = [
    "MEANINGS",
    "Asked",
    "Measure",
    "Reading",
    "RecordedCall",
    "Recording",
    "SdkWriter",
    "StrandsModel",
    "StrandsPlugin",
    "attach",
    "difference",
    "installed",
    "is_strands",
    "listing",
    "manager_of",
    "measure",
    "memory_tools",
    "model",
    "placement",
    "plugin",
    "read",
    "scripted",
    "sent",
]
