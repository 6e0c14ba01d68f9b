"""The Discord adapter. This package imports nothing: the library is paid for only where Discord is configured."""
