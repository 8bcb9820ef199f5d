"""What requests may contain. Strict: unknown fields, text for numbers and NaN are refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

SQUARE = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
LARGEST_SEED = 2**63 - 1

Pair = Annotated[list[float], Field(min_length=2, max_length=2)]
Points = Annotated[
    list[Pair],
    Field(min_length=1, description="The terminals: pairs of finite numbers.", examples=[SQUARE]),
]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED, description="For methods that draw numbers.")]
Length = Annotated[
    float | None,
    Field(gt=0, description="Relays are put on longer edges (their places come separately)."),
]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class SolveBody(_Body):
    """Points and how to connect them."""

    points: Points
    method: str = Field("auto", description="One of /api/methods.", examples=["exact"])
    options: dict[str, Any] = Field({}, description="The method's own options.", examples=[{}])
    time_limit: float | None = Field(
        None, ge=0, description="Seconds; the best tree so far then comes back."
    )
    seed: Seed = 0
    start: dict[str, Any] | None = Field(
        None, description="An earlier solution to begin from; its points may have moved since."
    )
    max_edge: Length = None
    format: Literal["json"] = "json"


class TraceBody(_Body):
    """Points whose solution is to be explained."""

    points: Points
    method: Literal["exact", "policy"] = Field("exact", description="Whose steps to return.")
    options: dict[str, Any] = Field({}, description="The method's own options.", examples=[{}])
    time_limit: float | None = Field(None, ge=0, description="Seconds.")
    seed: Seed = 0


class ExportBody(_Body):
    """A solution, as /api/solve returned it, and the format wanted."""

    solution: dict[str, Any] = Field(description="The `solution` of an answer.")
    format: Literal["svg", "png", "csv", "geojson", "json"]
    max_edge: Length = None
