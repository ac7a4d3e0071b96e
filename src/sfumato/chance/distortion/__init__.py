"""Distortion matrices: how a published category arises from a true one.

``matrix[true, published]`` is the probability that a row with the true category is published with the
other; rows sum to 1. Counts are row vectors: the expected published counts are ``true @ matrix`` and
``published @ inverse`` estimates the true ones without bias. (Guo 2010 writes the transposed matrix.)
"""

from sfumato.chance.distortion.axes import AxisMatrix, TwoValued, columns_of, contract, squared, transposed
from sfumato.chance.distortion.builders import (
    asymmetric_binary,
    invariant,
    uniform_with_diagonal,
    warner,
)
from sfumato.chance.distortion.matrices import (
    LARGEST_CONDITION_NUMBER,
    DenseDistortion,
    Distortion,
    UniformDistortion,
    amplification,
    check_sizes,
    expected_squared_error,
    largest_amplification,
    largest_epsilon,
)

__all__ = [
    "LARGEST_CONDITION_NUMBER",
    "AxisMatrix",
    "DenseDistortion",
    "Distortion",
    "Floats",
    "TwoValued",
    "UniformDistortion",
    "amplification",
    "asymmetric_binary",
    "check_sizes",
    "columns_of",
    "contract",
    "expected_squared_error",
    "invariant",
    "largest_amplification",
    "largest_epsilon",
    "squared",
    "transposed",
    "uniform_with_diagonal",
    "warner",
]
