"""The migrations, one module for each schema, which has the number of the version that brought it."""
