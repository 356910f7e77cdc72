"""The one room where text is made: frames of numbers become text, Markdown, JSON and CSV, with a format per column."""
