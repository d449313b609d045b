# Compiled as it stands: every call of a journal passes here.
