"""AstrBot with its Telegram platform and its default pipeline; only addresses, rate limit and web page are set."""

import asyncio
import copy
import json
import os
import sys
from pathlib import Path

PORT = sys.argv[1]
SERVER = f"http://127.0.0.1:{PORT}"
os.environ["ASTRBOT_ROOT"] = os.getcwd()
os.environ["ASTRBOT_CLI"] = "1"


def write_settings() -> None:
    """Write the settings file that AstrBot reads at its start."""
    from astrbot.core.config.default import DEFAULT_CONFIG

    settings = copy.deepcopy(DEFAULT_CONFIG)
    settings["dashboard"]["enable"] = False
    settings["platform_settings"]["rate_limit"] = {"time": 60, "count": 1_000_000, "strategy": "stall"}
    settings["platform_settings"]["enable_id_white_list"] = False
    settings["provider_settings"]["default_provider_id"] = "stub"
    settings["provider"] = [
        {
            "id": "stub",
            "provider": "openai",
            "type": "openai_chat_completion",
            "provider_type": "chat_completion",
            "enable": True,
            "key": ["x"],
            "api_base": f"{SERVER}/v1",
            "timeout": 120,
            "model": "stub",
            "max_context_tokens": 16384,
            "custom_headers": {},
            "modalities": ["text"],
        }
    ]
    settings["platform"] = [
        {
            "id": "telegram",
            "type": "telegram",
            "enable": True,
            "telegram_token": "1:" + "A" * 35,
            "start_message": "hi",
            "telegram_api_base_url": f"{SERVER}/bot",
            "telegram_file_base_url": f"{SERVER}/file/bot",
            "telegram_command_register": False,
            "telegram_command_auto_refresh": False,
            "telegram_command_register_interval": 300,
        }
    ]
    Path("data").mkdir(exist_ok=True)
    Path("data/cmd_config.json").write_text(json.dumps(settings), encoding="utf-8-sig")


async def run() -> None:
    """Start everything that AstrBot's own command starts, in its order."""
    from astrbot.core import LogBroker, LogManager, db_helper, logger
    from astrbot.core.initial_loader import InitialLoader

    broker = LogBroker()
    LogManager.set_queue_handler(logger, broker)
    await InitialLoader(db_helper, broker).start()


sys.path.insert(0, os.getcwd())
if "started" in sys.argv:
    asyncio.run(run())
else:  # importing it reads the settings, so the process that has written them must begin anew
    write_settings()
    os.execv(sys.executable, [sys.executable, *sys.argv, "started"])
