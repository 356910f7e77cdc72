"""Execute the chapters and render the book."""
