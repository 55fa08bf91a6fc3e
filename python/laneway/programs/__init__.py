"""The programs as typed functions, one file each."""
