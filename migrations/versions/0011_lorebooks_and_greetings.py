"""Lorebooks of places and people, what conversations remember of lore, and which greeting they begin with

Why: a place and a person have lore of their own beside a card's, entries may stay or stay away for some messages, and a
card may have several greetings.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Lead the schema here from the revision before."""
    op.create_table(
        "lorebook",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("owner_key", sa.String(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("kind", "owner_key"),
    )
    op.create_table(
        "lore_entry",
        sa.Column("book_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["book_id"], ["lorebook.id"]),
        sa.PrimaryKeyConstraint("book_id", "number"),
    )
    op.create_table(
        "lore_state",
        sa.Column("conversation_id", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversation.id"]),
        sa.PrimaryKeyConstraint("conversation_id"),
    )
    op.create_table(
        "chosen_greeting",
        sa.Column("conversation_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversation.id"]),
        sa.PrimaryKeyConstraint("conversation_id"),
    )


def downgrade() -> None:
    """Lead it back."""
    for table in ("chosen_greeting", "lore_state", "lore_entry", "lorebook"):
        op.drop_table(table)
