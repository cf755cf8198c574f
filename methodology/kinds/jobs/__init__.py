"""Jobs as a kind of load: programs that measure a host's CPU, memory and disk, native and in forms."""
