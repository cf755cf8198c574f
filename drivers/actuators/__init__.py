"""What is done to a DUT while traffic runs: resets (RFC 6201), and the modifiers of RFC 2544 section 11."""
