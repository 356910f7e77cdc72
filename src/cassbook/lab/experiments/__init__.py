"""Live experiments, each for one question, and how they are recorded."""
