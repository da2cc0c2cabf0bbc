"""The task model and where its encoder comes from."""
