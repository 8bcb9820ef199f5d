"""One module per group of subcommands."""
