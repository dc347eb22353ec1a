"""Database servers and a proxy on this machine, for tests and measurements: each lives as long as its context."""
