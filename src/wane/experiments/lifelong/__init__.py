"""Lifelong learning: the optimisers of ``wane.integrations.torch`` while what is to be learned keeps changing.

1. ``convex``: a linear or a softmax regression on a stream of real examples, one a round, under abrupt or gradual
   shift; what counts is the loss before the example was learned, against the best model of each phase in hindsight.
2. ``nets``: a small network on one image task after another, never told where a task ends.

The rules, the same for all: an optimiser plays every number of a grid (its learning rate; epsilon where there is none).
The best one is chosen in hindsight, on the very runs that are reported, which favours those that need tuning. Other
settings are the defaults. Numbers are means over the seeds, with the standard deviation between them. A run that leaves
the floats counts as the worst loss from there on, a network as one that guesses.
"""
