"""Training: the Lightning loop, optimisers, and the folder of a run."""
