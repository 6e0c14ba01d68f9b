"""Memory

Why: what a persona knows of its people is kept as items with their sources, and every compaction as a row that can be
undone.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from bot.store.tables import UtcDateTime

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Lead the schema here from the revision before."""
    op.create_table(
        "memory_item",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("conversation_id", sa.Integer(), nullable=False),
        sa.Column("persona_id", sa.String(), nullable=False),
        sa.Column("place_key", sa.String(), nullable=False),
        sa.Column("visibility", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("subject", sa.String(), nullable=True),
        sa.Column("subject_name", sa.String(), nullable=False),
        sa.Column("category", sa.String(), nullable=True),
        sa.Column("day", sa.Date(), nullable=True),
        sa.Column("people", sa.Text(), nullable=False),
        sa.Column("state", sa.String(), nullable=True),
        sa.Column("pinned", sa.Boolean(), server_default="0", nullable=False),
        sa.Column("stale", sa.Boolean(), server_default="0", nullable=False),
        sa.Column("replaces", sa.Integer(), nullable=True),
        sa.Column("valid_from", UtcDateTime(), nullable=False),
        sa.Column("valid_to", UtcDateTime(), nullable=True),
        sa.Column("made_by", sa.String(), nullable=False),
        sa.Column("made_at", UtcDateTime(), nullable=False),
        sa.Column("retired_by", sa.String(), nullable=True),
        sa.Column("retired_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversation.id"]),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_memory_item_conversation", "memory_item", ["conversation_id", "id"], unique=False)
    op.create_index("ix_memory_item_subject", "memory_item", ["subject"], unique=False)
    op.create_table(
        "memory_source",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("message_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["memory_item.id"]),
        sa.ForeignKeyConstraint(["message_id"], ["message.id"]),
        sa.PrimaryKeyConstraint("item_id", "message_id"),
    )
    op.create_index("ix_memory_source_message_id", "memory_source", ["message_id"], unique=False)
    op.create_table(
        "compaction",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("conversation_id", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("focus", sa.String(), nullable=False),
        sa.Column("from_position", sa.Integer(), nullable=False),
        sa.Column("to_position", sa.Integer(), nullable=False),
        sa.Column("messages", sa.Integer(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("tokens_before", sa.Integer(), nullable=False),
        sa.Column("tokens_after", sa.Integer(), nullable=False),
        sa.Column("delta", sa.Text(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("began_at", UtcDateTime(), nullable=False),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversation.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_compaction_conversation_id", "compaction", ["conversation_id"], unique=False)


def downgrade() -> None:
    """Lead it back."""
    op.drop_table("compaction")
    op.drop_table("memory_source")
    op.drop_table("memory_item")
