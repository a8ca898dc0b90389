"""Hooks for frameworks of agents: receipts for the tools and models that they call.

``actlog.hooks.langchain`` and ``actlog.hooks.litellm`` import their framework; nothing else does. See tools/AGENTS.md.
"""

from .recorder import Recorded, Recorder, Refused

__all__ = ["Recorded", "Recorder", "Refused"]
