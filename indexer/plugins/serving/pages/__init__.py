"""The pages of the server: plain HTML from templates, which works without scripts; extra `server`."""
