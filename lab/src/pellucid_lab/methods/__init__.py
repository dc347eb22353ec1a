"""The samplers that are compared: ours, Optuna's, BoTorch and SMAC."""
