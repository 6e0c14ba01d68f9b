"""The composition root: `build_app` makes every part and hands it to those who need it; `App` runs the whole."""

from bot.app.build import build_app
from bot.app.running import App

__all__ = ["App", "build_app"]
