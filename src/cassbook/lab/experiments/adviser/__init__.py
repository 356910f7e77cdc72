"""The adviser at work on a live cluster: switches of setting, and a shifting load."""
