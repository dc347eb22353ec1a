"""Answers about several objectives at once: the front, a compromise on it, and what trades one against the other.

`membership`: which tried configurations are on the front, by joint draws; `expected`: what to expect of them;
`answer`: the front as an answer; `wishes` and `compromise`: one configuration by weights and limits; `candidates`:
configurations that may be on the front, tried or not; `exchange`: rates and knees; `roles`: which parameters trade and
which only waste; `tradeoff`: both as an answer.
"""
