"""Kinds of load, each as what it shows in reports and is held to."""
