"""Tables, figures and prose values of each chapter."""
