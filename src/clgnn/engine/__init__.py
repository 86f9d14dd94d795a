"""How K samples cost little more than one: sparse products, shared features, receptive fields, chunks."""
