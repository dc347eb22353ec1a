"""Search spaces: their encoding, the conditions under which parameters exist, and their values. Knows no study."""
