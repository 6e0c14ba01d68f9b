"""Tools that servers bring by the Model Context Protocol. Nothing here is imported unless one is configured."""
