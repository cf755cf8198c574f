"""`python -m bmwg` is the command `bmwg`."""

from bmwg.cli.main import main

raise SystemExit(main())
