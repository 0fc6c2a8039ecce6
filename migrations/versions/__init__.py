"""The migrations, one module for each schema, numbered by the version that introduced it."""
