"""Sharpness as information: f-divergences, what processing keeps of them, and layers of a network.

>>> from propercal.information import sharpness_divergence
>>> joint = [[0.4, 0.1], [0.1, 0.4]]
>>> print(f"{sharpness_divergence('log', joint):.4f} nats")
0.1927 nats
"""

from propercal.information.finite import (
    apply_markov_map,
    f_divergence,
    sharpness_divergence,
    sharpness_function,
    statistical_information,
)
from propercal.information.layers import layer_sharpness

__all__ = [
    "apply_markov_map",
    "f_divergence",
    "layer_sharpness",
    "sharpness_divergence",
    "sharpness_function",
    "statistical_information",
]
