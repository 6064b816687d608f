"""The client of transferd, a self-hosted payment-transfer service."""

from .api import *  # noqa: F403
from .api import __all__ as _types
from .client import ApiError, AsyncClient, CallbackRejected, Client, NoResponseError, ReceivedCallback, TransferdError
from .client import __version__, from_minor_units, hash_code, sign_request, to_minor_units, verify_callback

__all__ = [
    *_types,
    "ApiError",
    "AsyncClient",
    "CallbackRejected",
    "Client",
    "NoResponseError",
    "ReceivedCallback",
    "TransferdError",
    "__version__",
    "from_minor_units",
    "hash_code",
    "sign_request",
    "to_minor_units",
    "verify_callback",
]
