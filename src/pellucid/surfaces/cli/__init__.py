"""The command ``pellucid``. `app` joins the commands; each has a module or a package of its own."""
