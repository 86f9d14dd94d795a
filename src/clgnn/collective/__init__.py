"""The paper, one step per file: masking, sampling, averaging, learning, inference."""
