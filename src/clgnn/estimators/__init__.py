"""What users call: one interface for collective learning and for every rival."""
