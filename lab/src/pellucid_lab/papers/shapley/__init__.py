"""ShapleyBO: Shapley values of proposals."""
