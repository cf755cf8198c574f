"""Where programs run: on a node itself, in a pod of any runtime, in a machine, in several places at once."""
