"""The platform configuration record: collectors, sampling and the doctor."""
