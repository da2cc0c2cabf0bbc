"""Fetching public datasets: from where, how, and unpacked without harm."""
