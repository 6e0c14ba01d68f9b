"""What extensions keep

Why: an extension can keep values of its own for a session where export and erasure reach them.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from bot.store.tables import UtcDateTime

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Lead the schema here from the revision before."""
    op.create_table(
        "extension_metadata",
        sa.Column("session_id", sa.Integer(), nullable=False),
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("about", sa.String(), nullable=True),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("set_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["chat_session.id"]),
        sa.PrimaryKeyConstraint("session_id", "namespace", "name"),
    )
    op.create_index(
        "ix_extension_metadata_about", "extension_metadata", ["about"], sqlite_where=sa.text("about IS NOT NULL")
    )


def downgrade() -> None:
    """Lead it back."""
    op.drop_table("extension_metadata")
