"""Warnings in plain words: what a message of the package means to one who reads a page."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: A part of a message, and what it says to a reader; `{...}` are groups of the pattern.
_MEANINGS: tuple[tuple[str, str], ...] = (
    (
        r"that they do not follow \(p = (?P<p>\S+)\).*?by up to about (?P<by>\S+?),",
        (
            "The miscalibration has a shape that the recalibrations do not follow (p = {p}). It is "
            "likely to be larger than estimated, by up to about {by}; its interval allows for that."
        ),
    ),
    (
        r"rests on refinements that are (?P<apart>\S+) apart, though the recalibrated",
        (
            "The two models seem to differ in what could be learnt from them, by {apart}, though "
            "what one of them tells follows from the other. It is likely that the miscalibration "
            "of one has a shape that was not found: do not rely on this difference."
        ),
    ),
    (
        r"(?P<share>\d+)% of the \S+ calibration error comes from structure that only the kernel",
        (
            "{share} % of the miscalibration was found by comparing neighbouring predictions "
            "alone. That finds only part of such a shape, so the miscalibration is likely to be "
            "larger; if rows depend on each other, such as repetitions, it may be smaller."
        ),
    ),
    (
        r"infinite, since .*?the loss is infinite at (?P<rows>[^:]+): an outcome occurred",
        (
            "At {rows} the outcome was one to which the model gave probability 0. Such a loss is "
            "infinite, and so is the mean. A probability of exactly 0 is seldom meant: correct it, "
            "or measure by a loss that is bounded, such as the Brier score."
        ),
    ),
    (
        r"infinite, since",
        (
            "Part of what is measured is infinite, as a prediction gives probability 0 to what may "
            "happen. Correct it, or measure by a loss that is bounded, such as the Brier score."
        ),
    ),
    (
        r"an outcome occurred to which the prediction gives probability 0, at (?P<rows>[^:]+):",
        (
            "At {rows} an outcome occurred to which the model gave probability 0. No calibrated "
            "model does so, which settles the test of calibration."
        ),
    ),
    (
        r"alone\. Do not use it, or pass the weight by|has a weight for each class, which the",
        (
            "Rows were weighted by what happened to them, in a way that a band, or what is said of "
            "a calibrated model, does not allow for. Do not rely on that part, or leave the "
            "weights out."
        ),
    ),
    (
        r"rows of several values of .* are taken together",
        (
            "Rows of several models, splits or epochs seem to be measured together: keep those of "
            "one, unless they belong together."
        ),
    ),
    (
        r"of this epoch are others than those of the epoch before",
        (
            "The epochs were not measured on the same rows, so that the best of them may be the "
            "one of the easiest rows."
        ),
    ),
    (
        r"(?:counts, it seems\.|(?:percentages|scores of \d+|of votes), though from_logits)",
        "Predictions seem to be percentages or counts, read as logits: then every number is wrong.",
    ),
    (
        r", which usually stands for a missing value",
        "Some predictions are a number that usually stands for none: leave such rows out.",
    ),
    (
        r"epoch = .* comes after epoch .*, and is compared with all|forgets the .* epochs of a",
        (
            "Epochs of several trainings follow one another: see which of them the best epoch is "
            "one of."
        ),
    ),
    (
        r"in one piece each, which by|is sorted by class, and cv = ",
        (
            "Rows seem to be sorted by what occurred, and not to be in the order in which they "
            "came: what rests on their order means nothing."
        ),
    ),
    (
        r"of \d+ rows: what came true, it seems",
        "All forecasts are what came true, of which nothing can be learnt.",
    ),
    (
        r"probabilities of classes, it seems, and taken for values",
        "Forecasts seem to be probabilities of classes, and were read as values of the outcome.",
    ),
    (
        r"all values of \S+ in \S+ of (?P<n>\d+) rows, by .*: other units, it seems",
        (
            "What came true is far from all that was forecast in nearly all of {n} rows, and near "
            "to it on another scale. Bring both into one unit."
        ),
    ),
    (
        r"is given for .*, which count as rows of weight 1 beside them",
        "Some rows came with weights, and others without, which were taken for rows of weight 1.",
    ),
    (
        r"goes back in some rows, which are taken in the order of the file",
        "Some rows stand before others that are older. They were taken in the order of the file.",
    ),
    (
        r"odds of each class, it seems|times as probable if they are (?:odds|−log p)",
        (
            "Predictions seem to be odds, or losses, and were read as if they were logits. Then "
            "every number here is wrong: turn them into probabilities."
        ),
    ),
    (
        r"is called per cent, and labels are",
        (
            "Predictions are called percentages, and fit what happened far better as such, but "
            "were read as probabilities. Then every number here is wrong: divide them by 100."
        ),
    ),
    (
        r"has the group (?P<one>.+), of (?P<n>\d+) rows, which is usually written",
        "The {n} rows of the group {one}, which seems to be no group, are taken to go together.",
    ),
    (
        r"^groups hold .* are made by what occurred",
        (
            "Groups were made by what happened. Within such a group every model is off, so that "
            "nothing follows for calibration: take groups that were known before."
        ),
    ),
    (
        r"tells nothing of \S+, but the contrary, as far as (?P<n>\d+) rows show",
        (
            "What happened is the contrary of what was predicted, as far as {n} rows show. It is "
            "likely that the predictions are those of another outcome than their name says."
        ),
    ),
    (
        r"tells nothing of \S+, as far as (?P<n>\d+) rows show",
        (
            "What happened has nothing to do with the predictions, as far as {n} rows show. The "
            "model is of no use, or predictions and outcomes belong to different rows: then every "
            "number here is wrong."
        ),
    ),
    (
        r"stand in two orders: read as those of the classes",
        (
            "Columns of predictions seem to stand in one order in some of the data, and in another "
            "in the rest. Then every number here is wrong: bring them into one order."
        ),
    ),
    (
        r"were made of the predictions \(.*, and are written as they were",
        (
            "Columns beside the predictions say what was so before they were recalibrated, such as "
            "which is the largest: make them anew, or leave them out."
        ),
    ),
    (
        r"has .*, read as those of the classes .*though by",
        (
            "Names do not tell which column of predictions belongs to which outcome, and the "
            "predictions fit what happened far better in another order. If the order is wrong, so "
            "is every number here: say which column is which."
        ),
    ),
    (
        r"takes classes in the order that is said",
        (
            "The score counts by how many steps predictions miss what happened, and the outcomes "
            "were listed in an order that their names speak against. If that order is wrong, so "
            "is every number here: list them from the least to the greatest."
        ),
    ),
    (
        r"takes the classes of an array, or their codes, in sorted order",
        (
            "Columns of predictions stand in an order of their own. What expects the classes in "
            "alphabetical order reads them wrongly: sort the columns for it."
        ),
    ),
    (
        r", read as the probability of .*though by",
        (
            "Nothing says of which of the two outcomes the predictions are the probability, and "
            "they fit what happened far better if it is the other one. Then every number here is "
            "wrong: say which it is."
        ),
    ),
    (
        r"\S+ from column to column in each of \d+ rows, though by it",
        (
            "In each row predictions are sorted by size, and the first does not fit what happened. "
            "If they belong to another outcome in each row, every number here is wrong: bring them "
            "into the columns of their outcomes."
        ),
    ),
    (
        r"is the most probable class in each of (?P<n>\d+) rows, which happens",
        (
            "In all {n} rows what happened is what the model held for most likely, which it would "
            "seldom be. Outcomes may be predictions, or of rows from which the model was learnt."
        ),
    ),
    (
        r"is 1 for what occurred and 0 for what did not in each of",
        (
            "Predictions are certain, and right in each row: they seem to be the outcomes "
            "themselves, of which nothing can be learnt."
        ),
    ),
    (
        r"is 0 or 1 in each of (?P<n>\d+) rows: classes that were decided on",
        (
            "All {n} predictions are certain: they seem to be decisions rather than probabilities, "
            "and a model that decides is not calibrated. Give the probabilities behind them."
        ),
    ),
    (
        r"and \S+ is below ½ at (?P<rows>[^:]+): read there as 1 − p",
        "At {rows} an answer was held for rather wrong: it counts as a confident one that it is.",
    ),
    (
        r"is one column of no value below ½",
        (
            "No prediction is below one half, though the outcome happened far less often. If they "
            "are the probability of whatever was predicted, every number here is wrong: give that "
            "of one outcome in all rows."
        ),
    ),
    (
        r"has no value above 0.*: logarithms of probabilities, it seems",
        (
            "Predictions were read as logits, and are likely to be logarithms of probabilities. If "
            "they are, every number here is wrong: pass the probabilities."
        ),
    ),
    (
        r"has rows whose powers of (?P<base>\d+) sum to 1",
        (
            "Predictions were read as natural logarithms, and are likely to be logarithms to base "
            "{base}. If they are, every number here is wrong: multiply them by log {base}."
        ),
    ),
    (
        r"rows were read side by side, though by",
        (
            "Predictions and outcomes were paired in the order in which they stand, and fit far "
            "better if one of them is sorted. If rows were shuffled on one side, every number here "
            "is wrong: pair them by their names."
        ),
    ),
    (
        r"only (?P<n>\d+) rows? had an outcome of predicted probability at most 1/2",
        (
            "In only {n} rows did something happen that the model held for unlikely (one half or "
            "less). That is too few to say how often it is wrong: rely neither on the "
            "miscalibration nor on its interval, and collect more rows."
        ),
    ),
    (
        r"no row had an outcome of predicted probability at most 1/2",
        (
            "In no row did anything happen that the model held for unlikely (one half or less). "
            "How often it is wrong cannot be learnt from that: rely neither on the miscalibration "
            "nor on its interval, and collect more rows."
        ),
    ),
    (
        r"loss is that of about (?P<n>\d+) of the rows",
        (
            "The whole loss is that of about {n} rows, the others having next to none. The "
            "miscalibration is likely to be larger than estimated, and its interval too narrow."
        ),
    ),
    (
        r"is a softmax of numbers between",
        (
            "Predictions were turned into probabilities twice, it seems, which makes them far too "
            "unsure: then every number here is wrong. Pass what the model returns."
        ),
    ),
    (
        r"seems fitted to these very",
        (
            "The predictions were fitted to the very outcomes that they are compared with, it "
            "seems. On other rows the model is worse than every number here says."
        ),
    ),
    (
        r"[Rr]ows seem to repeat each other",
        (
            "Rows seem to repeat each other: many have the same prediction and the same label. "
            "Repetitions make intervals too narrow and the miscalibration too large. Say which "
            "rows belong together (groups), or leave repetitions out."
        ),
    ),
    (
        r"repeat the last (?P<n>\d+) rows that were seen",
        (
            "The last {n} rows were passed twice, so that what they say was counted twice. Start "
            "again, and pass each row once."
        ),
    ),
    (
        r"repeats? rows that (?:were added before|are in others)|rows that were added before to",
        (
            "Some rows were passed twice, so that they were counted twice, and the interval is "
            "too narrow. Start again, and pass each row once."
        ),
    ),
    (
        r"leaves an effective number of (?P<few>\S+) rows of (?P<n>\d+)",
        (
            "Weights are so unequal that {n} rows tell as much as {few} of equal weight. What is "
            "measured rests on these few."
        ),
    ),
    (
        r"groups of very unequal size leave an effective number of (?P<few>\S+) of (?P<n>\S+):",
        "Groups of rows are so unequal that {n} of them tell as much as {few} of equal size.",
    ),
    (
        r"has the groups (?P<one>.+) and (?P<other>.+), which are .+: read as one group",
        (
            "The groups {one} and {other} are one number, and are read as one. If they are two, "
            "write them apart: what is said of groups, and every interval, depends on that."
        ),
    ),
    (
        r"has the groups (?P<one>.+) and (?P<other>.+), which are .+: read as two groups",
        (
            "The groups {one} and {other} are nearly the same name, and are read as two. If they "
            "are one group, write its name in one way."
        ),
    ),
    (
        r"holds .* and no 0: read as numbers of columns",
        (
            "No row has the label 0, so labels were read as counting the columns from 0. If they "
            "count from 1, every number on this page is wrong: check the labels."
        ),
    ),
    (
        r"used as they are\. Divide each row by its sum",
        "The probabilities of a row do not quite sum to 1. They were used as they are.",
    ),
    (
        r"by rounding \(at most",
        "Some probabilities lie outside of 0 to 1 by a rounding error, and were read as 0 or 1.",
    ),
    (
        r"though from_logits=True says that they are logits",
        (
            "The predictions look like probabilities, but were read as logits because they were "
            "said to be. If they are probabilities, every number on this page is wrong."
        ),
    ),
    (
        r"taken for (?:logits of )?classes, though no row has such a label",
        (
            "Some columns were read as classes though no row has such a label. If they are no "
            "classes, every number on this page is wrong: leave them out."
        ),
    ),
    (
        r"one column numbered 0",
        "The only column of predictions is numbered 0, and was read as the probability of class 1.",
    ),
    (
        r"confidence band has lower ends above upper ones",
        (
            "How often things happen does not rise with what was predicted: the reliability curve "
            "hides where it falls."
        ),
    ),
    (
        r"an outcome of predicted probability 0 occurred in (?P<few>\d+) of (?P<n>\d+) groups",
        (
            "In {few} of {n} groups an outcome occurred to which the model gave probability 0. No "
            "calibrated model does so, which settles the test for them."
        ),
    ),
    (
        r"alone in a bin",
        (
            "Some rows are alone in their bin, and the share of each class among all others was "
            "used for them."
        ),
    ),
    (
        r"is nothing beside the largest",
        "Some weights are so small beside the largest that they were counted as 0.",
    ),
    (
        r"bandwidth search ended at|loss is infinite in about .* rows at every bandwidth",
        "The width of the neighbourhoods (bandwidth) could not be chosen well for these data.",
    ),
)
_OF_GROUPS = re.compile(r"^groups \[(?P<names>.*?)\]: (?P<rest>.*)$", re.DOTALL)
_PATTERNS = tuple((re.compile(pattern, re.DOTALL), words) for pattern, words in _MEANINGS)


def in_plain_words(message: str) -> str:
    """Return what a warning says to a reader; the message itself where nothing is plainer."""
    of_groups = _OF_GROUPS.match(message)
    if of_groups is not None:
        names = of_groups["names"].replace("'", "")
        return f"{in_plain_words(of_groups['rest'])} (Groups: {names}.)"
    for pattern, words in _PATTERNS:
        found = pattern.search(message)
        if found is not None:
            return words.format(**found.groupdict())
    return message[:1].upper() + message[1:]


def all_in_plain_words(messages: Iterable[str]) -> tuple[str, ...]:
    """Return each meaning once, in the order of the messages."""
    return tuple(dict.fromkeys(map(in_plain_words, messages)))
