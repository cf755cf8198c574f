"""Traffic generators behind the TrafficDriver protocol."""
