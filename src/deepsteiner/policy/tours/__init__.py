"""Tour models, on which the training of policies can start."""
