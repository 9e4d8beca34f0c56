"""Rows that depend on each other: groups, blocks, repetitions; models of the same rows."""
