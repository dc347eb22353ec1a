"""Optuna's parameters, studies and storages, as arrays and records."""
