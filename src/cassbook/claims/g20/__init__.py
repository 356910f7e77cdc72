"""The 2020 paper on interplaying consistency and performance."""
