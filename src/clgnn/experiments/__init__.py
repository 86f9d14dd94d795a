"""The paper's experiments: which trials there are, how they are run and kept, and what they say together."""
