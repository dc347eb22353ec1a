"""The command ``pellucid``: `app` joins its commands, each of which has a file or a folder of its own."""
