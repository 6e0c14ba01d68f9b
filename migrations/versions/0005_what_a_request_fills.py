"""What a request fills

Why: how a prompt fills the window, part by part, is told of every turn, and what loses the provider's cache is counted.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Lead the schema here from the revision before."""
    op.add_column("model_call", sa.Column("prompt_usage", sa.Text(), nullable=True))
    op.add_column("model_call", sa.Column("prefix_break", sa.String(), nullable=True))


def downgrade() -> None:
    """Lead it back."""
    op.drop_column("model_call", "prefix_break")
    op.drop_column("model_call", "prompt_usage")
