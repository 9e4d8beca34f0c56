"""Methods of estimation: problems → the terms of each generator → a decomposition."""
