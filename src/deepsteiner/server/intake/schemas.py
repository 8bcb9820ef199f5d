"""The fields of requests. Strict: unknown fields, text for numbers and NaN are refused.

What may be large (points, trees) is checked apart, as arrays; here it is only described.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

SQUARE = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
LARGEST_SEED = 2**63 - 1
LONGEST_NAME = 64

_PAIR = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
Points = Annotated[
    Any,
    WithJsonSchema({"type": "array", "items": _PAIR, "minItems": 1}),
    Field(description="The terminals: pairs of finite numbers.", examples=[SQUARE]),
]
Tree = Annotated[Any, WithJsonSchema({"type": "object"})]
OptionalTree = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "null"}]})]
Options = Annotated[dict[str, Any], Field(description="The method's own options.", examples=[{}])]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED, description="For methods that draw numbers.")]
Length = Annotated[
    float | None,
    Field(gt=0, description="Relays are put on longer edges (their places come separately)."),
]
Obstacles = Annotated[
    Any,
    WithJsonSchema({"type": "array", "items": {"type": "array", "items": _PAIR, "minItems": 3}}),
    Field(description="Polygons that edges must not go through: lists of corners."),
]
Lines = Annotated[
    Any,
    WithJsonSchema({"type": "array", "items": {"type": "array", "items": _PAIR, "minItems": 2}}),
    Field(description="Lines that are there and may be joined anywhere: lists of points."),
]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class SolveBody(_Body):
    """Points and how to connect them."""

    points: Points
    method: str = Field(
        "auto", max_length=LONGEST_NAME, description="One of /api/methods.", examples=["exact"]
    )
    options: Options = {}
    time_limit: float | None = Field(
        None, ge=0, description="Seconds; the best tree so far then comes back."
    )
    seed: Seed = 0
    start: OptionalTree = Field(
        None, description="An earlier solution to begin from; its points may have moved since."
    )
    max_edge: Length = None
    obstacles: Obstacles = []
    existing: Lines = []
    radius: float | None = Field(
        None, gt=0, description="Place few relays, so that no hop is longer, instead of a tree."
    )
    format: Literal["json"] = "json"


class TraceBody(_Body):
    """Points whose solution is to be explained."""

    points: Points
    method: Literal["exact", "policy"] = Field("exact", description="Whose steps to return.")
    options: Options = {}
    time_limit: float | None = Field(None, ge=0, description="Seconds.")
    seed: Seed = 0


class ExportBody(_Body):
    """A solution, as /api/solve returned it, and the format wanted."""

    solution: Tree = Field(description="The `solution` of an answer.")
    format: Literal["svg", "png", "csv", "geojson", "json"]
    max_edge: Length = None


def described(body: type[BaseModel]) -> dict[str, Any]:
    """Return a request's body for the OpenAPI description."""
    content = {"application/json": {"schema": body.model_json_schema()}}
    return {"requestBody": {"content": content, "required": True}}
