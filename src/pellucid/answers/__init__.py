"""Every question about a study that pellucid answers: one ordered catalogue, which all surfaces read."""
