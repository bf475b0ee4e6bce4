"""The wire over HTTP, both sides of a satellite's: it serves the Hub that dials it, or dials the Hub."""
