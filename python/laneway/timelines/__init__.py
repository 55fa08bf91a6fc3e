"""Timelines of runs: reading them, and the page that shows one."""
