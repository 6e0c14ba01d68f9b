"""Alembic migrations. Each says why in its docstring; together they lead any released database to the newest shape."""
