"""Hosts to test against: see README.md."""
