"""More work than one process holds: chunks of instances on any executor, streams, engines."""
