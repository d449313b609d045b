"""What each method does and when to take it, in a sentence each, and what its settings mean: for ``wane methods``."""

from __future__ import annotations

METHODS = {  # name: what it does, when to take it
    "aci": (
        "Moves the level of a quantile of recent scores after every hit and miss.",
        "Take it to compare with the best-known method of the field.",
    ),
    "agaci": (
        "Runs ACI with several step sizes and averages them by their past loss.",
        "Take it if you would use ACI and do not know the step size.",
    ),
    "auto": (
        "Learns the scale of the errors, their seasons and how fast to forget, and keeps the coverage on target.",
        "Take it first for one series: nothing has to be set.",
    ),
    "bayes": (
        "Takes a quantile of all past scores, mixed with a uniform prior up to the largest score.",
        "Take it if you know the largest possible error and have few labels.",
    ),
    "cop": (
        "Steps towards the quantile of recent scores and corrects the step after hits and misses.",
        "Take it if recent scores are a good forecast of the next one.",
    ),
    "decaying-ogd": (
        "Moves the radius up after a miss and down after a hit, with steps that become smaller.",
        "Take it if the data hardly change: it settles, and follows changes slowly.",
    ),
    "dtaci": (
        "Runs ACI with several step sizes and follows the one that is best at present.",
        "Take it if changes come at different speeds.",
    ),
    "eci": (
        "Moves the radius by hits and misses and by how far off the radius was.",
        "Take it if large errors should move the radius more than small ones.",
    ),
    "eci-cutoff": (
        "Works like eci, but ignores errors that are small beside the recent scores.",
        "Take it if eci moves too much in calm times.",
    ),
    "eci-integral": (
        "Works like eci, but moves by an average of past errors instead of the last one.",
        "Take it if eci moves too much from row to row.",
    ),
    "faci": (
        "Runs ACI with several step sizes and follows one of them; it is an earlier form of dtaci.",
        "Take it to repeat published results; otherwise take dtaci.",
    ),
    "faci-s": (
        "Works like faci, but the experts move the radius itself instead of a level.",
        "Take it to repeat published results.",
    ),
    "kt": (
        "Bets a share of its winnings on misses; the bet is the radius.",
        "Take it to study betting methods: it needs no step size, and is slow to come down.",
    ),
    "linear-tracker": (
        "Forecasts the radius as a linear function of past scores or of features of yours.",
        "Take it if something that you can measure says how hard a row is.",
    ),
    "magdis": (
        "Is the simpler discounted method of the paper, without hints and clipping.",
        "Take it to repeat the paper's table.",
    ),
    "magl": (
        "Is the paper's method without forgetting: it has no step size, and radii as small as the past allows.",
        "Take it for data that do not change, or for many short series with little memory.",
    ),
    "magl-d": (
        "Is the paper's method with a discount: old labels count less and less.",
        "Take it if you know how fast the data change and want to set it (discount).",
    ),
    "nex": (
        "Takes a quantile of past scores in which old ones weigh less.",
        "Take it as a simple baseline for slow drift.",
    ),
    "p-control": (
        "Moves the radius up after a miss and down after a hit, in steps of a share of the recent range.",
        "Take it as a fast and simple baseline that follows changes.",
    ),
    "pi-control": (
        "Works like p-control, with a push that grows as misses accumulate.",
        "Take it if long-run coverage matters more than narrow intervals; some may be infinite.",
    ),
    "pid": (
        "Works like pi-control, with a forecast of the next score from the past ones.",
        "Take it if scores have a trend or a season.",
    ),
    "pool": (
        "Lets many series learn from each other, so that short ones are covered from their first rows on.",
        "Take it for a table with more than one series, where it is the default.",
    ),
    "portfolio": (
        "Bets on misses as a universal portfolio does; the bet is the radius.",
        "Take it to study betting methods.",
    ),
    "saocp": (
        "Starts a new learner in every round, and mixes those that are alive by betting.",
        "Take it if changes are sudden and you know the largest possible error.",
    ),
    "sf-ogd": (
        "Moves the radius by steps that shrink with the sum of past steps.",
        "Take it as a simple method if you know the largest possible error.",
    ),
    "simple-ogd": (
        "Works like sf-ogd with 1 as the largest error.",
        "Take it to repeat the paper's table, with errors of about 1.",
    ),
    "split": (
        "Takes a quantile of all past scores: split conformal prediction.",
        "Take it as the baseline that is right as long as nothing changes.",
    ),
    "trailing-window": (
        "Takes a quantile of the last scores.",
        "Take it as the simplest method that forgets; it needs a window full of labels.",
    ),
    "trivial": (
        "Gives infinite and empty intervals in a fixed pattern, with the right coverage.",
        "Never take it: it shows that coverage alone is not enough.",
    ),
}
SETTINGS = {
    "bias": "the value of the constant feature; 0 leaves it out",
    "burn_in": "how many first rounds use a level that does not move yet",
    "cells": "how many cells the grid of scores has",
    "clip": "whether levels are kept between 0 and 1",
    "context": "how many further numbers are known of each round (in Python)",
    "cutoff": "errors smaller than so many ranges of the recent scores are ignored",
    "decay": "the weight of a score relative to the next one, between 0 and 1",
    "discount": "how much of the past is kept after each label, between 0 and 1; 1 forgets nothing",
    "epsilon": "the scale of the first steps, in the unit of the errors; auto takes it from the warm-up",
    "eta": "the learning rate of the mixture; by default it adapts",
    "exponent": "how fast the steps become smaller: step t is rate * t^-exponent",
    "features": "how many numbers of yours the forecast uses (in Python)",
    "finite_sample": "whether to correct quantiles for the number of scores",
    "gain": "how strongly accumulated misses push",
    "gamma": "the step of the level after a hit or a miss",
    "gammas": "the step sizes that are tried, as a list",
    "initial_variance": "the sum of squared gradients to begin with",
    "interval": "over how many rounds the mixture is meant to be good",
    "late": "whether accumulated misses count one round late",
    "lifetime": "how many rounds a learner lives that is started in an odd round",
    "loss": "which loss is learned",
    "max_score": "the largest error that can occur, or an upper bound",
    "order": "how many past scores the forecast uses",
    "output_only": "whether the size of an error moves the next radius only",
    "prior": "how many rounds at the right rate the beginning is worth; a small one moves sooner",
    "priority": "what to prefer: coverage on target or narrow intervals",
    "published": "whether to follow the authors' code where it differs from their paper",
    "rate": "the step size, often as a share of the range of recent scores",
    "saturation": "how many accumulated misses make the push infinite; a larger one makes it later",
    "scale": "one over the scale of the scores",
    "scorecaster": "what forecasts the next score",
    "sigma": "how much weight moves between step sizes in each round",
    "start": "the first radius, or first for the first score",
    "strength": "how far to step towards the quantile of recent scores; 0 is p-control",
    "tie": "whether an error exactly as large as the radius counts as a miss or as covered",
    "window": "over how many recent scores to look",
}
