"""Good choices at any size: greedy, windows, regions and flips."""
