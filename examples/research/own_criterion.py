"""A stopping criterion of one's own: games end once a point saves too little.

    python own_criterion.py --seconds 60

The paper's First-increment trains on every point up to the first that lengthens the tree. Here a
game ends as soon as a point saves less than 0.2 % of the length.
"""

from from_scratch import table_row
from torch import Tensor

from deepsteiner.policy.kit.criteria import Criterion
from deepsteiner.policy.kit.registries import CRITERIA


@CRITERIA.register("worth_it")
class WorthIt(Criterion):
    """Go on where the last point saved at least 0.2 %."""

    baseline = "inference"  # the baseline plays Algorithm 1's games

    def goes_on(self, before: Tensor, after: Tensor, longer: Tensor) -> Tensor:
        return after < 0.998 * before


if __name__ == "__main__":
    for criterion in ("worth_it", "first_increment"):
        settings = [f"train.criterion={criterion}", "reinforce.instances=100"]
        print(table_row(criterion, settings, ("algorithm-2", "d1")))
