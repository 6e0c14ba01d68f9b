"""Who of a cast is called

Why: where several personas speak in one place, each answers for itself, and after a restart each still does so once.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Lead the schema here from the revision before."""
    op.create_table(
        "calling",
        sa.Column("message_id", sa.Integer(), nullable=False),
        sa.Column("persona_id", sa.String(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("answered_by", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["message_id"], ["message.id"]),
        sa.PrimaryKeyConstraint("message_id", "persona_id"),
    )
    op.create_index(
        "ix_calling_answered_by", "calling", ["answered_by"], sqlite_where=sa.text("answered_by IS NOT NULL")
    )


def downgrade() -> None:
    """Lead it back."""
    op.drop_table("calling")
