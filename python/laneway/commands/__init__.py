"""The commands, one file each; `laneway.cli` puts them together."""
