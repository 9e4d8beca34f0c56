"""The commands, one module each, with SUMMARY, `add(commands)` and `run(options)`."""
