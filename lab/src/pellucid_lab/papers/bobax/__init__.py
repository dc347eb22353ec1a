"""BOBAX: searches that also learn the effects of parameters."""
