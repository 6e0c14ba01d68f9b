"""${message}

Why: (say it here)
"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel  # noqa: F401
from alembic import op
${imports if imports else ""}
import bot.store.tables  # noqa: F401

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Lead the schema here from the revision before."""
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    """Lead it back."""
    ${downgrades if downgrades else "pass"}
