"""The pictures of the site, drawn by the package itself while the site is built."""
