"""The experiments of five papers, one package each."""
