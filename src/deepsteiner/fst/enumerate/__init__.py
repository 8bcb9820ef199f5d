"""Which full Steiner trees a shortest tree may consist of."""
