"""Why a trial was proposed: Shapley values of the acquisition that chose it."""
