"""Every exception that deepsteiner raises of its own accord::

    DeepSteinerError             the base of them all
    ├── InputError               (ValueError) what was given cannot be used
    │   ├── PointsError          the points
    │   ├── ObstacleError        an obstacle, or a terminal that it leaves no way to
    │   ├── NetworkError         an existing network that is to be joined
    │   ├── OptionError          an argument or a method's option
    │   ├── UnknownMethodError   the name of a method
    │   ├── FormatError          a file, or the format it claims to have
    │   └── TreeError            a tree that is none, or not as long as it says
    ├── MissingDependencyError   (ImportError) a package is needed that is not installed
    ├── WorkerError              (RuntimeError) workers died; `failed` and `finished` say which
    └── InternalError            (RuntimeError) a fault of deepsteiner's own

>>> import deepsteiner as ds
>>> try:
...     ds.solve([[0, 0], [float("nan"), 1]])
... except ds.errors.PointsError as error:
...     print(error)
points: point 1 is (nan, 1); coordinates must be finite
"""

from __future__ import annotations

from .core.errors import DeepSteinerError as DeepSteinerError
from .core.errors import FormatError as FormatError
from .core.errors import InputError as InputError
from .core.errors import InternalError as InternalError
from .core.errors import MissingDependencyError as MissingDependencyError
from .core.errors import NetworkError as NetworkError
from .core.errors import ObstacleError as ObstacleError
from .core.errors import OptionError as OptionError
from .core.errors import PointsError as PointsError
from .core.errors import TreeError as TreeError
from .core.errors import UnknownMethodError as UnknownMethodError
from .core.errors import WorkerError as WorkerError

__all__ = sorted(name for name in globals() if name.endswith("Error"))


def __dir__() -> list[str]:
    return __all__
