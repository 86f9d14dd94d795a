"""What K samples cost: ``python -m benchmarks``. Ratios in one run, never against a number from elsewhere."""
