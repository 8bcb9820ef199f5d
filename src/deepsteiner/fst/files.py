"""Lists of full Steiner trees in files: what is checked, and what is believed.

A proof rests on the list, so a list from a file is not taken at its word.

- Everything that can be checked is: the trees are trees over their terminals with Steiner points
  of degree 3, their lengths are the sums of their edges, a minimum spanning tree stands in front.
  Whatever the file, what is built from it is then a valid tree of the stated length.
- A digest over all of it, points and claims included, finds accidents: a file that was truncated
  or changed is refused.
- That the list is *complete*, that no tree it lacks could be needed, cannot be checked without
  generating it again. A digest proves nothing there, since anybody can compute one. So the claim
  is signed with a secret that only this user's cache folder holds, and believed only if the
  signature is right: then this user's own program, of this version, made the list. Without it
  (another user, another machine, an emptied cache) the trees serve, and the result is "feasible".
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FormatError, TreeError
from ..core.folders import own_secret
from ..core.trees import PackedTrees, check_tree, tree_length
from ..io.arrays import Archive, as_text
from ..io.atomic import atomic_write
from ..io.json_points import parse_json
from ..io.sources import read_source, reading, shown
from .trees import FullTrees

FORMAT = 3
FIELDS = {
    "points": (np.float64, 2),
    "start": (np.int64, 1),
    "terminals": (np.int64, 1),
    "length": (np.float64, 1),
    "steiner": (np.float64, 2),
    "edges": (np.int64, 2),
}
SECRET = "list-key"
# Both sides of these comparisons are sums of the same few lengths: rounding is all there is.
TOLERANCE = 1e-12

Arrays = Mapping[str, NDArray[Any]]


def save_trees(trees: FullTrees, path: str | os.PathLike[str]) -> None:
    """Write a list to one ``.npz`` file; a reader never sees half of it."""
    arrays: dict[str, Any] = {name: getattr(trees, name) for name in FIELDS}
    claims = {
        "format": FORMAT,
        "version": _version(),
        "complete": trees.complete,
        "stats": trees.stats,
    }
    digest = digest_of(arrays, claims)
    secret = own_secret(SECRET, create=True)
    seal = None if secret is None else sealed(digest, secret)
    notes = json.dumps({**claims, "digest": digest, "seal": seal})
    with atomic_write(path, "wb") as stream:
        np.savez_compressed(stream, notes=np.array(notes), **arrays)


def load_trees(path: str | os.PathLike[str]) -> FullTrees:
    """Read a list, or say in one sentence why the file is none."""
    source = read_source(path)
    with reading(source.name):
        archive = Archive(source)
        found = archive.read("notes", *FIELDS)
        missing = [name for name in ("notes", *FIELDS) if name not in found]
        if missing:
            raise FormatError(
                f"{source.name} is no list of full Steiner trees: it has no {missing[0]!r}"
            )
        notes = parse_json(as_text(found.pop("notes"), source.name), f"{source.name}['notes']")
        claims, digest, seal = _claims(notes, source.name)
        # Copies, because kernels are compiled for arrays that can be written.
        arrays = {name: np.array(found[name]) for name in FIELDS}
        if digest_of(arrays, claims) != digest:
            raise FormatError(f"{source.name} is damaged, or was changed after it was written")
        problem = _problem(arrays)
        if problem is not None:
            raise FormatError(f"{source.name}: {problem}")
    doubt = _doubt(digest, seal) if claims["complete"] else ""
    complete = bool(claims["complete"]) and not doubt
    arrays["links"] = arrays.pop("edges")
    return FullTrees(**arrays, complete=complete, stats=claims["stats"], doubt=doubt)


def digest_of(arrays: Arrays, claims: Mapping[str, Any]) -> str:
    """Return the digest of all that a file says."""
    digest = hashlib.sha256(json.dumps(claims, sort_keys=True).encode())
    for name in FIELDS:
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def sealed(digest: str, secret: bytes) -> str:
    """Return the signature of a digest."""
    return hmac.new(secret, digest.encode(), hashlib.sha256).hexdigest()


def _version() -> str:
    from .. import __version__

    return __version__


def _claims(notes: Any, name: str) -> tuple[dict[str, Any], str, str | None]:
    """Return what the notes claim, their digest and their signature."""
    if not isinstance(notes, dict) or notes.get("format") != FORMAT:
        stated = notes.get("format") if isinstance(notes, dict) else notes
        raise FormatError(f"{name}: expected a list of format {FORMAT}, got {shown(stated)}")
    names = ("format", "version", "complete", "stats", "digest", "seal")
    if set(notes) != set(names):
        raise FormatError(f"{name}: the notes must be {', '.join(names)}")
    *claimed, digest, seal = (notes[each] for each in names)
    claims = dict(zip(names, claimed, strict=False))
    if claims["version"] != _version():
        raise FormatError(
            f"{name} was written by deepsteiner {shown(claims['version'])}, and this is "
            f"{_version()}; write it again with save_fsts"
        )
    stats = claims["stats"]
    if not isinstance(claims["complete"], bool) or not isinstance(digest, str):
        raise FormatError(f"{name}: 'complete' must be true or false, and 'digest' a text")
    if seal is not None and not isinstance(seal, str):
        raise FormatError(f"{name}: 'seal' must be a text, got {shown(seal)}")
    if not isinstance(stats, dict) or not all(map(_is_number, stats.values())):
        raise FormatError(f"{name}: 'stats' must be numbers by name")
    return claims, digest, seal


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) < 2**63 and not math.isnan(value)


def _doubt(digest: str, seal: str | None) -> str:
    """Say why a claim to be complete is not believed, or nothing."""
    secret = own_secret(SECRET, create=False)
    right = None if secret is None else sealed(digest, secret).encode()
    if seal is None or right is None or not hmac.compare_digest(seal.encode(), right):
        return (
            "it does not bear this user's signature, so that it is complete is not believed; "
            "the trees are used, and nothing is proven"
        )
    return ""


def _problem(arrays: Arrays) -> str | None:
    """Say what is wrong with loaded arrays, or None."""
    for name, (dtype, dimensions) in FIELDS.items():
        array = arrays[name]
        if array.dtype != dtype or array.ndim != dimensions:
            kind = np.dtype(dtype).name
            return f"{name!r} has to be a {dimensions}-dimensional array of {kind}"
        if dimensions == 2 and array.shape[1] != 2:
            return f"{name!r} has to have two columns"
        if dtype is np.float64 and not np.isfinite(array).all():
            return f"{name!r} contains a number that is not finite"
    return _misfit(arrays) or _not_trees(arrays)


def _misfit(arrays: Arrays) -> str | None:
    """Say where one array does not fit another, or None."""
    start, terminals = arrays["start"], arrays["terminals"]
    n, count = len(arrays["points"]), len(arrays["length"])
    if len(start) != count + 1 or start[0] != 0 or start[-1] != len(terminals):
        return "'start' does not fit 'length' and 'terminals'"
    # Compared rather than subtracted: differences of hostile numbers wrap around.
    if (start < 0).any() or (start > len(terminals)).any() or (start[1:] <= start[:-1]).any():
        return "'start' has to rise from tree to tree"
    sizes = np.diff(start)
    if n == 0 or count < n - 1 or (sizes[: n - 1] != 2).any() or (sizes[n - 1 :] < 3).any():
        return "the edges of a spanning tree have to stand in front of trees of three or more"
    if (np.diff(sizes) < 0).any() or sizes.max(initial=0) > n:
        return "the trees have to be in the order of their sizes, none larger than the points"
    if len(arrays["steiner"]) != (sizes - 2).sum():
        return "'steiner' has to have k - 2 rows for every tree of k terminals"
    if len(arrays["edges"]) != (2 * sizes - 3).sum():
        return "'edges' has to have 2 k - 3 rows for every tree of k terminals"
    if len(terminals) and (terminals.min() < 0 or terminals.max() >= n):
        return "'terminals' names a point that does not exist"
    named = np.sort(np.repeat(np.arange(count), sizes) * n + terminals)
    if (named[1:] == named[:-1]).any():
        return "a tree has a terminal twice"
    return None


def _not_trees(arrays: Arrays) -> str | None:
    """Say which tree is not the full Steiner tree that it claims to be, or None."""
    from ..geometry.spanning_trees import minimum_spanning_tree

    points, start, terminals = arrays["points"], arrays["start"], arrays["terminals"]
    n = len(points)
    trees = PackedTrees(
        points[terminals],
        start,
        arrays["steiner"],
        start - 2 * np.arange(len(start)),
        arrays["edges"],
    )
    front = terminals[: 2 * (n - 1)].reshape(-1, 2)
    try:
        trees.check()
        check_tree(points, np.empty((0, 2)), front)
    except TreeError as error:
        return str(error)
    degree = np.bincount(trees.flat_edges.ravel(), minlength=int(trees.node_start[-1]))
    sizes = np.diff(start)
    place = np.arange(len(degree)) - np.repeat(trees.node_start[:-1], 2 * sizes - 2)
    expected = np.where(place < np.repeat(sizes, 2 * sizes - 2), 1, 3)
    if (degree != expected).any():
        return "in a full Steiner tree terminals have one edge and Steiner points three"
    if not np.allclose(trees.lengths(), arrays["length"], rtol=TOLERANCE, atol=0.0):
        return "a tree's length is not the sum of its edges"
    shortest = tree_length(points, minimum_spanning_tree(points))
    if not math.isclose(tree_length(points, front), shortest, rel_tol=TOLERANCE):
        return "the spanning tree in front is not a shortest one"
    return None
