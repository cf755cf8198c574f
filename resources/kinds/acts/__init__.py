"""Runs of acts: pods made and removed while frames are offered to them."""
