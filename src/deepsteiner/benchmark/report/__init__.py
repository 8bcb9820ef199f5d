"""The HTML report: charts, pictures and examples around the tables."""
