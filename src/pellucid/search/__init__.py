"""What the samplers share on the way from a study to a proposal."""
