"""What arrays, tables and lists hold: plain values, names, indexes; checks of settings."""
