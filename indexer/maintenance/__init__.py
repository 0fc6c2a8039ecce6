"""Maintenance of a collection: checks, repairs, automatic repair of derived files, backups."""

from moverank.indexer.maintenance.check import check
from moverank.indexer.maintenance.repair import repair

__all__ = ["check", "repair"]
