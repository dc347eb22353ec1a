"""SAWEI: self-adjusting weighted expected improvement."""
