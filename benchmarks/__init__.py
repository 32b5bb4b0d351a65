"""What the kernels are measured against, and how: `python -m benchmarks.kernels`."""
