"""Self-adjusting weighted expected improvement."""
