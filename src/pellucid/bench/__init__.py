"""Benchmarks: problems, methods, a resumable runner and the tables made from its records.

Read in this order: ``base`` (the records), ``functions``, ``yahpo`` and ``models`` (the problems),
``problems`` (the suites), ``peers`` and ``methods``, ``workers``, ``results`` and ``runner``, ``latency``,
``tables`` and ``output``, ``commands``.
Importing this package imports none of them: ``pellucid bench --help`` has to start at once.
"""
