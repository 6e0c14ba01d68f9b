"""What waits for the clock

Why: sessions that have gone quiet are swept, and follow-ups come back on their day, without looking at all the others.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from bot.store.tables import UtcDateTime

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

DUE = sa.text("kind = 'follow_up' AND state = 'open' AND retired_at IS NULL AND raised_at IS NULL")


def upgrade() -> None:
    """Lead the schema here from the revision before."""
    op.add_column("chat_session", sa.Column("sweep_from", UtcDateTime(), nullable=True))
    op.add_column("chat_session", sa.Column("spoke_first_at", UtcDateTime(), nullable=True))
    op.create_index(
        "ix_chat_session_sweep", "chat_session", ["sweep_from"], sqlite_where=sa.text("sweep_from IS NOT NULL")
    )
    op.create_index("ix_override_name", "override", ["name"])
    op.add_column("memory_item", sa.Column("raised_at", UtcDateTime(), nullable=True))
    op.create_index("ix_memory_item_due", "memory_item", ["day"], sqlite_where=DUE)


def downgrade() -> None:
    """Lead it back."""
    op.drop_index("ix_memory_item_due", table_name="memory_item")
    op.drop_column("memory_item", "raised_at")
    op.drop_index("ix_override_name", table_name="override")
    op.drop_index("ix_chat_session_sweep", table_name="chat_session")
    op.drop_column("chat_session", "spoke_first_at")
    op.drop_column("chat_session", "sweep_from")
