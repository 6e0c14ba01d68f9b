"""Each persona's own mood

Why: several personas may share one conversation, and each of them feels in its own way there. What was kept so far
belongs to the persona whose conversation it is.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from bot.store.tables import UtcDateTime

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Lead the schema here from the revision before."""
    op.rename_table("persona_mood", "persona_mood_before")
    _create(sa.Column("persona_id", sa.String(), nullable=False), key=("conversation_id", "persona_id"))
    op.execute(
        "INSERT INTO persona_mood (conversation_id, persona_id, state, changed_at) "
        "SELECT kept.conversation_id, conversation.persona_id, kept.state, kept.changed_at "
        "FROM persona_mood_before AS kept JOIN conversation ON conversation.id = kept.conversation_id"
    )
    op.drop_table("persona_mood_before")


def downgrade() -> None:
    """Lead it back; the moods of other personas than a conversation's own are lost."""
    op.rename_table("persona_mood", "persona_mood_after")
    _create(key=("conversation_id",))
    op.execute(
        "INSERT INTO persona_mood (conversation_id, state, changed_at) "
        "SELECT kept.conversation_id, kept.state, kept.changed_at "
        "FROM persona_mood_after AS kept JOIN conversation "
        "ON conversation.id = kept.conversation_id AND conversation.persona_id = kept.persona_id"
    )
    op.drop_table("persona_mood_after")


def _create(*more: sa.Column[str], key: tuple[str, ...]) -> None:
    op.create_table(
        "persona_mood",
        sa.Column("conversation_id", sa.Integer(), nullable=False),
        *more,
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("changed_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversation.id"]),
        sa.PrimaryKeyConstraint(*key),
    )
