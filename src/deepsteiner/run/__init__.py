"""How work is run: methods and their monitor, long calls under a watch, threads, processes."""
