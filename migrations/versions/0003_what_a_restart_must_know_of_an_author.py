"""What a restart must know of an author

Why: who was left unanswered is answered after a restart, in their language, and a bot is told of no failure.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Lead the schema here from the revision before."""
    # In place: rebuilding the table would copy everything that was ever said.
    op.add_column("message", sa.Column("author_locale", sa.String(), nullable=True))
    op.add_column("message", sa.Column("author_is_bot", sa.Boolean(), server_default="0", nullable=False))


def downgrade() -> None:
    """Lead it back."""
    op.drop_column("message", "author_is_bot")
    op.drop_column("message", "author_locale")
