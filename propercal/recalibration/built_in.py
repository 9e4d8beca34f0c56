"""The families of recalibrations that are averaged where a user names none."""

from __future__ import annotations

from propercal.recalibration.adaptive import adaptive, atoms
from propercal.recalibration.families import (
    equivariant,
    identity,
    mixture,
    smooth,
    smooth_fits,
    temperature,
    tempered_mixture,
    vector,
    vector_fits,
)
from propercal.recalibration.family import Family
from propercal.recalibration.interacting import interacting
from propercal.recalibration.top_class import by_predicted_class, monotone, monotone_confidence


def families_for(n_classes: int) -> list[Family]:
    """Return the families that can be fitted for a number of classes."""
    families: list[Family] = [identity, temperature, equivariant, mixture, tempered_mixture]
    families.append(monotone_confidence)
    if n_classes == 2:
        families += [monotone, adaptive, atoms]
    if vector_fits(n_classes):
        families += [vector, by_predicted_class]
    if smooth_fits(n_classes):
        families.append(smooth)
    families += interacting(n_classes)
    return families
