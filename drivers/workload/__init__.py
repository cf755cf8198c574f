"""What runs on a DUT beside or as its function: the modifiers of RFC 2544 section 11, for the present."""
