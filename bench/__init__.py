"""Side-by-side benchmarks: `make bench`, or `python -m bench NAME`. Figures go to `bench/results`, prose to docs."""
