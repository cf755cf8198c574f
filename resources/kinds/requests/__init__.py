"""Keywords and wiring of the HTTP proxy suites."""
