"""Where people live, and whom something was told

Why: what somebody is reminded of goes by the clock on their own wall. And whoever wants to be forgotten is so only if
what the bot has told them unasked is known to be theirs.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Lead the schema here from the revision before."""
    op.add_column("person", sa.Column("zone", sa.String(), nullable=True))
    op.add_column("message", sa.Column("told_key", sa.String(), nullable=True))


def downgrade() -> None:
    """Lead it back."""
    op.drop_column("message", "told_key")
    op.drop_column("person", "zone")
