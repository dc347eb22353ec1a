"""Deep ranking surrogates that learn from earlier studies."""
