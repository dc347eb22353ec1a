"""Surrogates that learn from earlier studies. Needs torch: `pip install 'pellucid[ranking]'`."""
