"""TRex stateless behind the protocol of all traffic drivers; its client runs in a process of its own."""
