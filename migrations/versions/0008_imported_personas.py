"""Imported personas

Why: people bring cards of their own, for one place or for all, change them, and can go back.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from bot.store.tables import UtcDateTime

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Lead the schema here from the revision before."""
    op.create_table(
        "persona",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("place_key", sa.String(), nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("accepted", sa.Text(), nullable=True),
        sa.Column("accepted_by", sa.String(), nullable=True),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("confirmed_at", UtcDateTime(), nullable=True),
        sa.Column("retired_at", UtcDateTime(), nullable=True),
        sa.Column("retired_by", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_persona_place_key", "persona", ["place_key"])
    op.create_table(
        "persona_version",
        sa.Column("persona_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("card", sa.Text(), nullable=False),
        sa.Column("change", sa.String(), nullable=False),
        sa.Column("changed_by", sa.String(), nullable=False),
        sa.Column("changed_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["persona_id"], ["persona.id"]),
        sa.PrimaryKeyConstraint("persona_id", "number"),
    )
    op.create_table(
        "persona_file",
        sa.Column("persona_id", sa.String(), nullable=False),
        sa.Column("container", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("picture", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(["persona_id"], ["persona.id"]),
        sa.PrimaryKeyConstraint("persona_id"),
    )
    op.create_index("ix_persona_file_sha256", "persona_file", ["sha256"])


def downgrade() -> None:
    """Lead it back."""
    op.drop_table("persona_file")
    op.drop_table("persona_version")
    op.drop_table("persona")
