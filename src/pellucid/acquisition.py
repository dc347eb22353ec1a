"""The documented path of acquisitions, policies and their parts."""

from pellucid.search.acquisition import *  # noqa: F403
