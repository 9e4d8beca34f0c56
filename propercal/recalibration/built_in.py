"""The families of recalibrations that are averaged where a user names none."""

from __future__ import annotations

from propercal.recalibration.families import (
    LARGEST_SYSTEM,
    SMOOTH_RIDGE,
    Family,
    equivariant,
    identity,
    mixture,
    smooth,
    temperature,
    tempered_mixture,
    vector,
)
from propercal.recalibration.top_class import by_predicted_class, monotone, monotone_confidence


def families_for(n_classes: int) -> list[Family]:
    """Return the families that can be fitted for a number of classes."""
    families: list[Family] = [identity, temperature, equivariant, mixture, tempered_mixture]
    families.append(monotone_confidence)
    if n_classes == 2:
        families.append(monotone)
    if 2 * n_classes <= LARGEST_SYSTEM:
        families += [vector, by_predicted_class]
    if len(SMOOTH_RIDGE) * n_classes <= LARGEST_SYSTEM:
        families.append(smooth)
    return families
