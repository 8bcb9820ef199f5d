"""The paper's learned system: environment, network, decoding, checkpoints."""
