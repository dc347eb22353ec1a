"""Tables and figures: the layout that all commands share, regret and ranks, and tests of significance."""
