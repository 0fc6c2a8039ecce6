"""Maintenance of a collection: checks, repairs, automatic repair of derived files, backups."""
