"""What this library costs beside what people would use instead, measured side by side: `unirex bench`.

Seconds on a shared machine mean little, ratios measured in one run mean much: every group of measurements
runs its cases in turn, repetition by repetition, and compares like with like.
"""
