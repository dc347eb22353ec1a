"""Are the answers true? Studies of problems whose truth is known, the answers to them, and their errors."""
