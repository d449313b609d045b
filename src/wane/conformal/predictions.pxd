# Compiled without C types of its own: every round of one series goes through it.
