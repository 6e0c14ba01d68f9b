"""Real servers of tools that tests start: `sdk.py` by the official SDK, `plain.py` as others write them."""
