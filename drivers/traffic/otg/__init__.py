"""Any Open Traffic Generator implementation behind the protocol of all traffic drivers, through snappi."""
