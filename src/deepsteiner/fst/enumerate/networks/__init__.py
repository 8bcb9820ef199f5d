"""Full Steiner trees over terminals and existing networks, complete with proof."""
