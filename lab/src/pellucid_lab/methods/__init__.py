"""The samplers that are compared: ours, Optuna's, BoTorch, SMAC, and peers in environments of their own."""
