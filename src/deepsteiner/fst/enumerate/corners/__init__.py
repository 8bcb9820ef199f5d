"""Full Steiner trees over terminals and corners of obstacles, complete with proof."""
