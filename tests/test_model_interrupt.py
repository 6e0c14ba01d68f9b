"""A download of a model file that somebody breaks off."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from bot.llm.model_files import SMALL

REPOSITORY = Path(__file__).parents[1]


def test_an_interrupted_download_tells_how_to_go_on(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as index:
        index.settimeout(60)
        address = f"http://127.0.0.1:{index.getsockname()[1]}/simple"
        quiet_pip = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": address, "NO_PROXY": "127.0.0.1"}
        process = subprocess.Popen(
            [sys.executable, "-m", "bot", "model", "install", SMALL.name],
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(REPOSITORY),
                "FAMILIAR_CACHE": str(tmp_path),
                **quiet_pip,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        connection, _ = index.accept()  # it asks for the first part, and waits for ever
        os.killpg(process.pid, signal.SIGINT)
        with connection:
            _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "run it again to resume" in told
    assert "Traceback" not in told
