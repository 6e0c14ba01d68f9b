"""Reminders, and rounds of tools under way

Why: what somebody asked to be reminded of outlives a restart, and a turn that a crash cut off goes on behind the tools
that have run for it, in place of running them again.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from bot.store.tables import UtcDateTime

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Lead the schema here from the revision before."""
    op.create_table(
        "reminder",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.Integer(), nullable=False),
        sa.Column("author_key", sa.String(), nullable=False),
        sa.Column("author_name", sa.String(), nullable=False),
        sa.Column("author_locale", sa.String(), nullable=True),
        sa.Column("reply_to", sa.String(), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("wall_time", sa.String(), nullable=False),
        sa.Column("zone", sa.String(), nullable=False),
        sa.Column("repeat", sa.String(), nullable=True),
        sa.Column("due_at", UtcDateTime(), nullable=False),
        sa.Column("try_at", UtcDateTime(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("is_sending", sa.Boolean(), nullable=False, server_default="0"),
        sa.Column("made_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["chat_session.id"]),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_reminder_try_at", "reminder", ["try_at"])
    op.create_index("ix_reminder_author_key", "reminder", ["author_key"])
    op.create_index("ix_reminder_session_id", "reminder", ["session_id"])
    op.create_table(
        "running_round",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("conversation_id", sa.Integer(), nullable=False),
        sa.Column("message_id", sa.Integer(), nullable=False),
        sa.Column("exchange", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_running_round_message_id", "running_round", ["message_id"])


def downgrade() -> None:
    """Lead it back."""
    op.drop_table("running_round")
    op.drop_table("reminder")
