"""Paths: what stands between the tester's two ports, deployed and removed as one thing."""

from __future__ import annotations

from bmwg.drivers.paths.select import path_driver

__all__ = ["path_driver"]
