"""The paper's tables beside ours: what is in them and how they print."""
