"""Application workloads (Squid, Apache, ab, JMeter), and the modifiers of RFC 2544 section 11."""
