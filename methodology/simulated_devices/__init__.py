"""Devices, testers and hosts whose truth is stated, and the study of every algorithm over them. All pure."""
