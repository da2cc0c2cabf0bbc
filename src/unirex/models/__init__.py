"""The task model: encoders and where they come from, heads, windows over long texts, batches of rows."""
