"""From examples to tensors: tokens with their characters, batches, limited gold, the cache of encodings."""
