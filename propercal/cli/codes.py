"""Exit codes of the command line."""

from __future__ import annotations

DONE, FAILED, USAGE, ALARM, INTERRUPTED = 0, 1, 2, 3, 130

#: For the end of every help.
EXIT_CODES = """\
Exit codes: 0 done; 1 a file could not be read, or its data or the output failed (one line each on
standard error; other files are still processed); 2 usage; 3 a gate or an alarm, see above; 130
interrupted.
"""
