"""Networks of their own for tasks on several machines, connected by OpenSSH's forwarding."""
