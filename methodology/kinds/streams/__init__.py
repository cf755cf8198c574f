"""Streams as a kind of load: bulk transfers and request/response tests of transport between pods."""
