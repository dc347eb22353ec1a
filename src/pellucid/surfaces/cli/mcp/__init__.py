"""``pellucid mcp``: answers for agents, over the Model Context Protocol.

``command`` starts it, ``server`` speaks the protocol and is the only module that imports the package ``mcp``, ``tools``
lists what an agent can call, and ``answering`` turns a call into a bounded reply. Only ``queueing`` writes to the
storage.
"""
