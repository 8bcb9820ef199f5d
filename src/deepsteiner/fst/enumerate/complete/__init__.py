"""Every full Steiner tree that some shortest tree may need: the list that proofs rest on."""
