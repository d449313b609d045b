"""The fifteen common corruptions of ImageNet-C, in five severities, for images of any size from 8 x 8."""

from wane.vision.corruption.kinds import KINDS, corrupt, kinds

__all__ = ["KINDS", "corrupt", "kinds"]
