"""Training of policies: configuration, objectives, the loop, validation."""
