"""An experiment of acts: the start of pods, under an id and a metric of the vendor's own."""

from bmwg.methodology.kinds.acts.experiments import Experiment
from bmwg.methodology.matrix import STARTED

STARTED = Experiment(test_id="LC-TOY-1", metric="toy_start", places=(STARTED,))
