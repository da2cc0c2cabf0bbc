"""Trained systems behind HTTP: `unirex serve`, an application to mount elsewhere, and a client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unirex.errors import UserError
from unirex.registry import late

if TYPE_CHECKING:
    from unirex.serve.app import create_app
    from unirex.serve.client import Client

_PLACES = {"Client": "unirex.serve.client:Client", "create_app": "unirex.serve.app:create_app"}
__all__ = ["Client", "create_app"]


def __getattr__(name: str) -> Any:
    """The client needs only the standard library; the application needs the extra `serve`."""
    if name not in _PLACES:
        raise AttributeError(f"module 'unirex.serve' has no attribute '{name}'")
    if name == "create_app":
        check_installed()
    return late(_PLACES[name])


def check_installed() -> None:
    """Refuse to serve without the packages of the extra `serve`."""
    try:
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise UserError(f"serving needs {error.name}: pip install 'unirex[serve]'") from None
