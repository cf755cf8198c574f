"""Lets the tests of this folder import its fake measurers by name (importlib mode adds no path)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
