"""What calls cost

Why: people want to know what they and their place spend, and limits by day and month must hold over a restart and with
many asking at once.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from bot.store.tables import UtcDateTime

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Lead the schema here from the revision before."""
    op.add_column("model_call", sa.Column("cost", sa.BigInteger(), nullable=True))
    op.add_column("model_call", sa.Column("currency", sa.String(), nullable=True))
    op.create_index("ix_model_call_at", "model_call", ["at"])
    op.create_index("ix_model_call_author", "model_call", ["author_key", "at"])
    op.create_table(
        "budget",
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("scope_key", sa.String(), nullable=False),
        sa.Column("period", sa.String(), nullable=False),
        sa.Column("unit", sa.String(), nullable=False),
        sa.Column("spent", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "scope_key", "period", "unit"),
    )
    op.create_table(
        "reservation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("author_key", sa.String(), nullable=True),
        sa.Column("place_key", sa.String(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("cost", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(), nullable=True),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "quota_notice",
        sa.Column("listener", sa.String(), nullable=False),
        sa.Column("limit", sa.String(), nullable=False),
        sa.Column("period", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("listener", "limit", "period", "kind"),
    )


def downgrade() -> None:
    """Lead it back."""
    op.drop_table("quota_notice")
    op.drop_table("reservation")
    op.drop_table("budget")
    op.drop_index("ix_model_call_author", "model_call")
    op.drop_index("ix_model_call_at", "model_call")
    op.drop_column("model_call", "currency")
    op.drop_column("model_call", "cost")
