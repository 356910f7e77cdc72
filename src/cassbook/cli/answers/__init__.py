"""What the answering commands print: text for people, JSON for programs."""
