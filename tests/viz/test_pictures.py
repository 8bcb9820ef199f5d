"""Pictures: what they show, that they are the same every time, and that odd inputs draw."""

import io
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from deepsteiner.core.errors import FormatError, OptionError
from deepsteiner.core.solution import Solution
from deepsteiner.core.trees import tree_length
from deepsteiner.viz.plot import FIGURE_FORMATS, compare, plot_points, plot_solution, save_figure
from deepsteiner.viz.scene import count_text, heading, length_text, scene_of
from deepsteiner.viz.svg import solution_svg


def chain(points, **fields):
    """Return the path through the points in their order as a solution."""
    terminals = np.asarray(points, dtype=float).reshape(-1, 2)
    edges = np.stack((np.arange(len(terminals) - 1), np.arange(1, len(terminals))), axis=1)
    return Solution(terminals, [], edges, tree_length(terminals, edges), **fields)


def star():
    """Return the Steiner tree of an equilateral triangle."""
    corners = [[0.0, 0.0], [1.0, 0.0], [0.5, 3**0.5 / 2]]
    centre = [[0.5, 3**0.5 / 6]]
    return Solution(corners, centre, [[0, 3], [1, 3], [2, 3]], 3**0.5, 3**0.5, "optimal", "exact")


ODD = {
    "one point": chain([[3.0, 4.0]]),
    "two points": chain([[0.0, 0.0], [0.0, 1.0]]),
    "equal points": chain([[1.0, 1.0]] * 4),
    "collinear": chain([[float(i), 0.0] for i in range(8)]),
    "tiny and far away": chain(np.random.default_rng(0).random((9, 2)) * 1e-3 + 1e7),
    "large": chain(np.random.default_rng(0).random((9, 2)) * 1e100),
    "many": chain(np.random.default_rng(0).random((5000, 2))),
    "relays": star().with_max_edge(0.1),
    "longitude and latitude": chain(
        [[179.5, -17.0], [-179.5, -16.5]], crs="EPSG:4326", plane_crs="EPSG:3832"
    ),
}


@pytest.mark.parametrize("solution", ODD.values(), ids=ODD.keys())
def test_odd_solutions_draw(solution):
    picture = io.BytesIO()
    save_figure(solution, picture, "png")
    assert picture.getvalue().startswith(b"\x89PNG")
    ElementTree.fromstring(solution_svg(solution))


@pytest.mark.parametrize("format", FIGURE_FORMATS)
def test_the_same_solution_gives_the_same_bytes(format, tmp_path):
    save_figure(star(), tmp_path / f"first.{format}")
    stream = io.BytesIO()
    save_figure(star(), stream, format)
    assert (tmp_path / f"first.{format}").read_bytes() == stream.getvalue()


def test_title_says_method_length_and_gap():
    assert plot_solution(star()).get_title(loc="left") == "exact, length 1.73205, optimal"
    loose = Solution([[0, 0], [3, 4]], [], [[0, 1]], 5.0, lower_bound=4.0, method="mst")
    assert heading(loose) == "mst, length 5, gap 25 %"


def test_counts_are_a_legend():
    assert count_text(scene_of(star())) == "● 3 terminals   ○ 1 Steiner point"
    relayed = scene_of(star().with_max_edge(0.2))
    assert count_text(relayed) == "● 3 terminals   ○ 1 Steiner point   ■ 6 relays"


def test_axes_are_equal_and_nodes_are_drawn_by_kind():
    ax = plot_solution(star().with_max_edge(0.2))
    assert ax.get_aspect() == 1.0
    assert [len(line.get_xdata()) for line in ax.lines] == [6, 1, 3]
    assert [line.get_marker() for line in ax.lines] == ["s", "o", "o"]


def test_geographic_pictures_are_corrected_for_latitude():
    solution = chain([[10.0, 59.0], [11.0, 61.0]], crs="EPSG:4326", plane_crs="EPSG:32632")
    ax = plot_solution(solution)
    assert ax.get_aspect() == pytest.approx(2.0)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("longitude", "latitude")
    assert length_text(chain([[0, 0], [3, 4]], crs="EPSG:32632")) == "5 m"


def test_edges_do_not_cross_the_map_at_the_antimeridian():
    scene = scene_of(ODD["longitude and latitude"])
    assert np.ptp(scene.terminals[:, 0]) == pytest.approx(1.0)


def test_plot_uses_the_axes_it_is_given():
    ax = plot_points([[0, 0], [1, 1]])
    assert plot_solution(star(), ax) is ax
    assert plot_points([[0, 0], [1, 1]], ax) is ax


def test_compare_draws_one_panel_per_solution():
    figure = compare([star(), ODD["collinear"], star()], titles=["a", "b\nsecond line", "c"])
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["a", "b", "c"]
    with pytest.raises(OptionError, match="at least one solution"):
        compare([])
    with pytest.raises(OptionError, match="1 solutions but 2 titles"):
        compare([star()], titles=["a", "b"])


def test_svg_has_a_title_and_few_elements_at_any_size():
    root = ElementTree.fromstring(solution_svg(ODD["many"], width=300))
    assert root.get("width") == "300"
    assert len(list(root.iter())) < 10
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert "5,000 terminals" in title.text


def test_svg_escapes_what_it_is_told():
    solution = Solution([[0, 0], [1, 0]], [], [[0, 1]], 1.0, method='<&">')
    assert '<&"' not in solution_svg(solution)
    ElementTree.fromstring(solution_svg(solution))


@pytest.mark.parametrize("width", [10, 99.5, True])
def test_svg_refuses_a_bad_width(width):
    with pytest.raises(OptionError, match="width must be a whole number"):
        solution_svg(star(), width=width)


def test_unknown_picture_format_is_refused(tmp_path):
    with pytest.raises(FormatError, match="png, pdf or svg, got 'gif'"):
        save_figure(star(), tmp_path / "tree.gif")
    assert not list(tmp_path.iterdir())


def test_svg_needs_no_matplotlib_and_plots_need_no_pyplot():
    code = (
        "import sys\n"
        "from deepsteiner.core.solution import Solution\n"
        "from deepsteiner.viz.svg import solution_svg\n"
        "tree = Solution([[0, 0], [1, 0]], [], [[0, 1]], 1.0)\n"
        "solution_svg(tree)\n"
        "assert 'matplotlib' not in sys.modules\n"
        "tree.plot()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
