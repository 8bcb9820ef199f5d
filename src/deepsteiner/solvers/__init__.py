"""One module per method, textbook ones and ours; `registry` lists them."""
