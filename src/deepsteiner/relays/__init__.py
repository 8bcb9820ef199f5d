"""Relays: fewest extra stations so that every hop of a network is within radio range."""
