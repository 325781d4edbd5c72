"""Hosts to test on: see README.md."""
