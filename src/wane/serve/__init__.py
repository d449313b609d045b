"""One JSON object a line, in and out: online conformal prediction for a program in any language.

``Lines`` maps a request to a response, ``serve`` is the loop between two streams, ``opened`` begins or goes on.
"""

from wane.serve.answers import PROTOCOL, Lines
from wane.serve.jsonl import LONGEST, serve
from wane.serve.requests import FIELDS, KINDS
from wane.serve.service import opened

__all__ = ["FIELDS", "KINDS", "LONGEST", "PROTOCOL", "Lines", "opened", "serve"]
