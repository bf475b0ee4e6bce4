"""An app that holds a Hub: the real one, in a child, driven over stdio."""

from .app import ByteBot

__all__ = ["ByteBot"]
