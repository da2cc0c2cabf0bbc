"""Experiments: methods × settings × datasets × seeds as one study, planned, resumable, with its report."""
