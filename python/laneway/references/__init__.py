"""Reference answers that results are compared with, one file a program."""
