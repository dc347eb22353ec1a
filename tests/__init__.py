"""A regular package: an installed distribution (ioh) ships a `tests` of its own, found first otherwise."""
