"""Snow and frost on images (n, h, w, channels) from 0 to 1; lengths are shares of the shorter side."""

from __future__ import annotations

import numpy as np

from wane.streams.pixels import Rngs, blurred, draws, streaked

FLAKE = 0.012  # how large a flake is
FALL = 0.12  # how far it falls while the picture is taken
DOWN, SLANT = np.pi / 2.0, np.pi / 4.0  # where it falls, and how far from there the wind may take it
RARE, DENSE = 3.0, 2.2  # flakes are where unit noise exceeds RARE - DENSE * strength
SHINE = 3.0  # of a flake, spread along its fall
HAZE = 0.45  # how white the air is, as a share of the strength

ICE = np.array([0.80, 0.90, 1.00])  # the colour of frost, red, green, blue
CRYSTALS = (0.12, 0.06, 0.03)  # how far the ferns of frost reach, from the coarse to the fine
VEIN = 0.35  # how wide a crystal is, in standard deviations of the noise whose zeros it follows
FILM = 0.45  # the frost between the crystals, as a share of that on them


def snow(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
    """White flakes, streaked by their fall, in white air; more of both with the strength, from 0 to 1."""
    size = x.shape[1:3]
    noise, winds = zip(*((rng.standard_normal(size), rng.uniform(-SLANT, SLANT)) for rng in rngs), strict=True)
    flakes = np.clip(_smooth(np.stack(noise), FLAKE) - (RARE - DENSE * strength), 0.0, 1.0)
    streaks = streaked(flakes, FALL * min(size), (DOWN + wind for wind in winds), mode="wrap")
    seen = (1.0 - HAZE * strength) * (1.0 - np.minimum(SHINE * streaks, 1.0))
    return 1.0 - seen[..., None] * (1.0 - x)


def frost(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
    """Covered in ice: this share of the light comes from it where crystals are, and less between them."""
    noise = draws(rngs, lambda rng: rng.standard_normal((len(CRYSTALS), *x.shape[1:3])))
    fields = np.stack([_smooth(noise[:, k], reach) for k, reach in enumerate(CRYSTALS)])
    crystals = np.exp(-0.5 * (fields / VEIN) ** 2).max(axis=0)
    cover = strength * (FILM + (1.0 - FILM) * crystals)[..., None]
    return x + cover * ((ICE if x.shape[-1] == len(ICE) else ICE.mean()) - x)


def _smooth(noise: np.ndarray, reach: float) -> np.ndarray:
    """Noise (n, h, w) under a bell, with standard deviation 1 in each image."""
    field = blurred(noise, reach)
    return field / field.std(axis=(1, 2), keepdims=True)
