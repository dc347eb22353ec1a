"""``pellucid tune``.

`command` parses the options; `sampling` and `pruning` have the samplers and pruners to choose from. `run` hands out
trials to the processes of `pool`, whose code is `worker`; they exchange `messages`. `display` shows a `snapshot` of the
study, and `summary` prints the end.
"""
