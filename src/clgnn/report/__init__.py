"""Results to read: the paper's tables and figures, and an HTML page whose reader can choose what it shows."""
