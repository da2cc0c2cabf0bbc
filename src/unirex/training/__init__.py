"""Training: the Lightning loop, optimisers, and the folder a run is kept in."""
