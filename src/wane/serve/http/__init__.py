"""The service over HTTP: the requests of ``wane.serve`` behind addresses, each answered after the journal has it.

It needs the extra ``serve``. ``Service`` does requests, ``build`` makes the application of it, ``run`` serves it.
"""
