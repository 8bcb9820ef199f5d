"""Coordinate reference systems that a request may name.

The library behind them also takes file names, and pipelines that name files; from a client only an
EPSG code is accepted, a name of longitude and latitude, or the plane that this server itself chose.
"""

from __future__ import annotations

import re

from ..refusals import Refusal, shown

EPSG = re.compile(r"(?:EPSG:|urn:ogc:def:crs:EPSG:[\w.]{0,8}:)\d{4,6}", re.ASCII)
# Longitude and latitude, by the names that GeoJSON files use.
LONLAT_NAMES = ("OGC:CRS84", "urn:ogc:def:crs:OGC:1.3:CRS84", "urn:ogc:def:crs:OGC::CRS84")
_NUMBER = r"-?\d{1,12}(?:\.\d{1,20})?(?:e-?\d{1,2})?"
# As `core.geo` writes it: azimuthal equidistant around a centre, on the ellipsoid of the points.
LOCAL_PLANE = re.compile(
    rf"\+proj=aeqd \+lat_0={_NUMBER} \+lon_0={_NUMBER} \+a={_NUMBER} \+(?:rf|b)={_NUMBER} "
    r"\+units=m \+no_defs \+type=crs",
    re.ASCII,
)


def check_system(name: str, field: str = "crs") -> None:
    """Refuse a system that is not an EPSG code or a name of longitude and latitude."""
    if name not in LONLAT_NAMES:
        _check_epsg(name, field, f"EPSG:4326 and {', '.join(LONLAT_NAMES)}")


def check_plane(name: str, field: str = "plane_crs") -> None:
    """Refuse a plane that is neither an EPSG code nor one that this server chose."""
    if LOCAL_PLANE.fullmatch(name) is None:
        _check_epsg(name, field, "EPSG:25832 and what /api/read answered")


def _check_epsg(name: str, field: str, accepted: str) -> None:
    if EPSG.fullmatch(name) is None:
        sentence = f"{field}: accepted are EPSG codes such as {accepted}; got {shown(name)}"
        raise Refusal(422, sentence)
