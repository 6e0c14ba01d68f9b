"""People and introductions

Why: who wants privacy, and what was said in it; people of one name are told apart; a place hears once what the bot is.
Places where the bot has answered before know it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from bot.store.tables import UtcDateTime

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Lead the schema here from the revision before."""
    op.create_table(
        "person",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("private_since", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_table(
        "naming",
        sa.Column("session_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("author_key", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["chat_session.id"]),
        sa.PrimaryKeyConstraint("session_id", "name"),
    )
    op.create_table(
        "introduction",
        sa.Column("place_key", sa.String(), nullable=False),
        sa.Column("said_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("place_key"),
    )
    op.execute(
        "INSERT INTO introduction (place_key, said_at) SELECT place_key, min(sent_at) FROM message "
        "WHERE visibility != 'dm' AND kind IN ('reply', 'notice') GROUP BY place_key"
    )
    # In place: rebuilding the table would copy everything that was ever said.
    op.add_column("message", sa.Column("is_private", sa.Boolean(), server_default="0", nullable=False))
    op.create_index(
        "ix_message_in_privacy", "message", ["id"], unique=False, sqlite_where=sa.text("is_private AND text != ''")
    )


def downgrade() -> None:
    """Lead it back."""
    op.drop_index("ix_message_in_privacy", table_name="message")
    op.drop_column("message", "is_private")
    op.drop_table("introduction")
    op.drop_table("naming")
    op.drop_table("person")
