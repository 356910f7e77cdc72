"""Logs of other tools: recognised, read, and written as samples or as tables of what they sum up."""
