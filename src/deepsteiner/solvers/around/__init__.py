"""Trees around obstacles and through soft regions."""
