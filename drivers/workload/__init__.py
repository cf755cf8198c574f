"""Application workloads: what is measured (Squid), what stands behind it (Apache), who asks (ab, JMeter)."""
