"""Output formats: text for terminals, JSON and CSV for programs, HTML pages and figures."""
