"""Peers that need an environment of their own.

`sampler` is our side: an Optuna sampler that starts a peer as a process of another interpreter. `loop` is the program
of that process; it loads one of the other modules, which import the standard library and their peer only, because the
packages of the laboratory are not installed in a peer's environment.

The two sides exchange one JSON line per message. A parameter is an object: ``kind`` (``float``, ``int`` or
``choice``), ``low``, ``high`` and ``log`` for numbers, ``count`` for choices. A configuration is a list with one number
per parameter, in that order; a choice is its index. So no name or choice of a study can trouble a peer.

| sent | answered |
|---|---|
| ``{"space": [parameter, ...], "seed": 0}`` | ``{"versions": {package: version}}`` |
| ``{"tell": [[configuration, loss], ...]}``: the trials that finished since the last message | \
``{"params": configuration, "seconds": CPU seconds of telling and asking}`` |

`forwarding` is our side of another release of pellucid (`rc1`), which is asked for one parameter after the other. So it
works wherever pellucid does:

| sent | answered |
|---|---|
| ``{"directions": ["minimize"], "seed": 0, "n_startup": 10}`` | ``{"versions": {package: version}}`` |
| ``{"ended": [trial, ...], "trial": number, "name": parameter, "distribution": as Optuna's JSON}`` | \
``{"value": as Optuna stores it, "seconds": CPU seconds}`` |
"""
