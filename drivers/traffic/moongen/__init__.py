"""MoonGen behind the protocol of all traffic drivers: a Lua script of our own, run as a process."""
