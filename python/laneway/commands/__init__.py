"""The commands, one file each; `laneway.app` puts them together."""
