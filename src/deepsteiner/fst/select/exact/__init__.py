"""The cheapest choice, with proof: reductions, dynamic programmes, branch and cut."""
