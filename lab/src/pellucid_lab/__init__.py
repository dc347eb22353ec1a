"""The laboratory of pellucid: problems, peers, resumable runs, tables, and the experiments of the papers."""
