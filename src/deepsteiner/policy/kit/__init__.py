"""A kit for new ideas: registries of all parts of a policy, and doors to other libraries."""
