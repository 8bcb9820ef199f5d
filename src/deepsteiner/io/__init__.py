"""Formats of points and solutions: reading, writing and exporting."""

from .atomic import atomic_write
from .points_files import POINT_FORMATS, load_instances, load_points, save_points
from .solution_files import (
    SOLUTION_FORMATS,
    load_solution,
    save_solution,
    solution_from_dict,
    solution_to_dict,
)

__all__ = [
    "POINT_FORMATS",
    "SOLUTION_FORMATS",
    "atomic_write",
    "load_instances",
    "load_points",
    "load_solution",
    "save_points",
    "save_solution",
    "solution_from_dict",
    "solution_to_dict",
]
