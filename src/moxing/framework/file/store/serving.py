"""Selects the object store for a URL."""

from __future__ import annotations

# Import this now: a last upload needs it, and Python can't import it at the end of a program.
import concurrent.futures.thread  # noqa: F401

from moxing.framework.file.configuration import settings as settings_module
from moxing.framework.file.configuration.settings import Settings
from moxing.framework.file.store.bucket import BucketStore
from moxing.framework.file.store.folder import FolderStore
from moxing.framework.file.store.protocol import Store
from moxing.framework.file.urls import Location


def store_for(where: Location, settings: Settings | None = None) -> Store:
    """Returns the store that holds `where`.

    Raises:
      MoxRuntimeError: no store is configured.
    """
    chosen = settings or settings_module.current()
    settings_module.needs_endpoint(chosen, where)
    if chosen.root is not None:
        return FolderStore(chosen.root)
    from moxing.framework.file.store.client import (
        client_for,  # This needs botocore, which imports slowly.
    )

    return BucketStore(client_for(chosen))
