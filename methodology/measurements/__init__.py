"""One module a measurement: which cells it is for, what it costs, and its outcomes as a function of trials.

A measurement never deploys, waits or writes: it asks for one trial after the other. The same code measures
and replays a record, so what it asks for may follow from the profile, the cell, its prerequisites and the
trials so far, and from nothing else.
"""
