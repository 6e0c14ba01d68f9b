"""One bot on Discord per file of scenarios; each test has a channel of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.scenarios.discord_lab import DiscordLab, Spot, discord_lab, echo


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running_lab(tmp_path_factory: pytest.TempPathFactory, migrated_database: Path) -> AsyncIterator[DiscordLab]:
    async with discord_lab(tmp_path_factory.mktemp("discord"), migrated_database) as lab, lab.running() as bot:
        lab.model.models = ["scripted", *(f"m{number:02}" for number in range(19))]
        yield lab
        code = await bot.stop()
        print(bot.output)
        assert code == 0
        assert "Traceback" not in bot.output


@pytest.fixture
def lab(running_lab: DiscordLab) -> DiscordLab:
    running_lab.model.script = echo
    return running_lab


@pytest.fixture
def spot(lab: DiscordLab, request: pytest.FixtureRequest) -> Spot:
    return lab.spot(request.node.name.replace("_", "-")[:90].lower())
