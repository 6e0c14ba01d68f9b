"""The first tables

Why: sessions, conversations and messages with their replies, parts and images; overrides; the ledger of model calls;
what endpoints refused; small facts about ourselves.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from bot.store.tables import UtcDateTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Lead the schema here from the revision before."""
    op.create_table(
        "chat_session",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("place_key", sa.String(), nullable=False),
        sa.Column("parent_key", sa.String(), nullable=True),
        sa.Column("platform", sa.String(), nullable=False),
        sa.Column("place", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("thread", sa.String(), nullable=False),
        sa.Column("visibility", sa.String(), nullable=False),
        sa.Column("place_name", sa.String(), nullable=False),
        sa.Column("channel_name", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.Integer(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("last_human_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("key"),
    )
    with op.batch_alter_table("chat_session", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_chat_session_place_key"), ["place_key"], unique=False)

    op.create_table(
        "learned_quirk",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("endpoint", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.Column("learned_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("endpoint", "model", "name"),
    )
    op.create_table(
        "model_call",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("session_id", sa.Integer(), nullable=True),
        sa.Column("conversation_id", sa.Integer(), nullable=True),
        sa.Column("persona_id", sa.String(), nullable=True),
        sa.Column("author_key", sa.String(), nullable=True),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=True),
        sa.Column("cached_tokens", sa.Integer(), nullable=True),
        sa.Column("output_tokens", sa.Integer(), nullable=True),
        sa.Column("reasoning_tokens", sa.Integer(), nullable=True),
        sa.Column("estimated_tokens", sa.Integer(), nullable=False),
        sa.Column("first_token_ms", sa.Integer(), nullable=False),
        sa.Column("total_ms", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("model_call", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_model_call_session_id"), ["session_id"], unique=False)

    op.create_table(
        "override",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("scope_key", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("set_by", sa.String(), nullable=False),
        sa.Column("set_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("scope", "scope_key", "name"),
    )
    op.create_table(
        "remembered",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "conversation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.Integer(), nullable=False),
        sa.Column("persona_id", sa.String(), nullable=False),
        sa.Column("opened_at", UtcDateTime(), nullable=False),
        sa.Column("closed_at", UtcDateTime(), nullable=True),
        sa.Column("watermark", sa.Integer(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("greeted", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["chat_session.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("conversation", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_conversation_session_id"), ["session_id"], unique=False)

    op.create_table(
        "listening",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("conversation_id", sa.Integer(), nullable=False),
        sa.Column("from_position", sa.Integer(), nullable=False),
        sa.Column("to_position", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversation.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("listening", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_listening_conversation_id"), ["conversation_id"], unique=False)

    op.create_table(
        "message",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.Integer(), nullable=False),
        sa.Column("conversation_id", sa.Integer(), nullable=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("platform_message_id", sa.String(), nullable=True),
        sa.Column("place_key", sa.String(), nullable=False),
        sa.Column("visibility", sa.String(), nullable=False),
        sa.Column("author_key", sa.String(), nullable=True),
        sa.Column("author_name", sa.String(), nullable=False),
        sa.Column("persona_id", sa.String(), nullable=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("words", sa.Integer(), server_default="0", nullable=False),
        sa.Column("addressed", sa.Boolean(), nullable=False),
        sa.Column("answered_by", sa.Integer(), nullable=True),
        sa.Column("reply_to", sa.String(), nullable=True),
        sa.Column("quote", sa.Text(), server_default="", nullable=False),
        sa.Column("state", sa.String(), nullable=True),
        sa.Column("standing", sa.String(), nullable=False),
        sa.Column("cut", sa.Boolean(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("tool_calls", sa.Text(), nullable=True),
        sa.Column("tool_call_id", sa.String(), nullable=True),
        sa.Column("tool_name", sa.String(), nullable=True),
        sa.Column("sent_at", UtcDateTime(), nullable=False),
        sa.Column("edited_at", UtcDateTime(), nullable=True),
        sa.Column("deleted_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversation.id"],
        ),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["chat_session.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("message", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_message_author_key"), ["author_key"], unique=False)
        batch_op.create_index(
            "ix_message_addressed", ["session_id", "id"], unique=False, sqlite_where=sa.text("addressed")
        )
        batch_op.create_index(
            "ix_message_answered_by", ["answered_by"], unique=False, sqlite_where=sa.text("answered_by IS NOT NULL")
        )
        batch_op.create_index("ix_message_order", ["session_id", "position", "id"], unique=False)
        batch_op.create_index("ix_message_own", ["conversation_id", "position", "id"], unique=False)
        batch_op.create_index("ix_message_sending", ["id"], unique=False, sqlite_where=sa.text("state = 'sending'"))
        batch_op.create_index(
            "ix_message_unanswered",
            ["session_id", "id"],
            unique=False,
            sqlite_where=sa.text("addressed AND answered_by IS NULL"),
        )
        batch_op.create_index(
            "ux_message_platform_id",
            ["session_id", "platform_message_id"],
            unique=True,
            sqlite_where=sa.text("platform_message_id IS NOT NULL"),
        )

    op.create_table(
        "image",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("message_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("media_type", sa.String(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["message_id"],
            ["message.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("image", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_image_message_id"), ["message_id"], unique=False)

    op.create_table(
        "sent_part",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("message_id", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("platform_message_id", sa.String(), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["message_id"],
            ["message.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("message_id", "ordinal"),
    )
    with op.batch_alter_table("sent_part", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_sent_part_platform_message_id"), ["platform_message_id"], unique=False)


def downgrade() -> None:
    """Lead it back."""
    with op.batch_alter_table("sent_part", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_sent_part_platform_message_id"))

    op.drop_table("sent_part")
    with op.batch_alter_table("image", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_image_message_id"))

    op.drop_table("image")
    with op.batch_alter_table("message", schema=None) as batch_op:
        batch_op.drop_index("ux_message_platform_id", sqlite_where=sa.text("platform_message_id IS NOT NULL"))
        batch_op.drop_index("ix_message_unanswered", sqlite_where=sa.text("addressed AND answered_by IS NULL"))
        batch_op.drop_index("ix_message_sending", sqlite_where=sa.text("state = 'sending'"))
        batch_op.drop_index("ix_message_own")
        batch_op.drop_index("ix_message_order")
        batch_op.drop_index("ix_message_answered_by", sqlite_where=sa.text("answered_by IS NOT NULL"))
        batch_op.drop_index("ix_message_addressed", sqlite_where=sa.text("addressed"))
        batch_op.drop_index(batch_op.f("ix_message_author_key"))

    op.drop_table("message")
    with op.batch_alter_table("listening", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_listening_conversation_id"))

    op.drop_table("listening")
    with op.batch_alter_table("conversation", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_conversation_session_id"))

    op.drop_table("conversation")
    op.drop_table("remembered")
    op.drop_table("override")
    with op.batch_alter_table("model_call", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_model_call_session_id"))

    op.drop_table("model_call")
    op.drop_table("learned_quirk")
    with op.batch_alter_table("chat_session", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_chat_session_place_key"))

    op.drop_table("chat_session")
