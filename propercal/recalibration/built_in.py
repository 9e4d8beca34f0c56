"""The families of recalibrations that are averaged where a user names none."""

from __future__ import annotations

from collections.abc import Callable

from propercal.recalibration.adaptive import adaptive, atoms, wave_terms
from propercal.recalibration.families import (
    equivariant,
    equivariant_terms,
    identity,
    mixture,
    smooth,
    smooth_fits,
    smooth_terms,
    temperature,
    tempered_mixture,
    vector,
    vector_fits,
    vector_terms,
)
from propercal.recalibration.family import Family, TrainingSets
from propercal.recalibration.interacting import interacting, interacting_terms
from propercal.recalibration.ranked_mixture import ranked_mixture
from propercal.recalibration.terms import MakeTerms
from propercal.recalibration.top_class import by_predicted_class, monotone, monotone_confidence


def directions_for(n_classes: int) -> list[Callable[[TrainingSets], MakeTerms]]:
    """Return functions of predictions in which a misfit of the recalibrations is looked for."""
    if n_classes == 2:
        return [lambda _: vector_terms, *wave_terms()]
    found: list[Callable[[TrainingSets], MakeTerms]] = [lambda _: equivariant_terms]
    if vector_fits(n_classes):
        found.append(lambda _: vector_terms)
    if smooth_fits(n_classes):
        found.append(lambda _: smooth_terms)
    return found + interacting_terms(n_classes)


def families_for(n_classes: int) -> list[Family]:
    """Return the families that can be fitted for a number of classes."""
    families: list[Family] = [identity, temperature, equivariant, mixture, tempered_mixture]
    families += [monotone_confidence, atoms]
    if n_classes == 2:
        families += [monotone, adaptive]
    if vector_fits(n_classes):
        families += [vector, by_predicted_class]
    if smooth_fits(n_classes):
        families.append(smooth)
    if n_classes > 2:
        families.append(ranked_mixture)
    families += interacting(n_classes)
    return families
