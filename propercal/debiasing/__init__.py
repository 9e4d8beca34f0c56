"""The bias-corrected estimate: cross-fitted recalibration, kernel correction, one-step estimate.

:mod:`~propercal.debiasing.folds` splits the rows; :mod:`~propercal.debiasing.families` are the
recalibrations that are fitted (by :mod:`~propercal.debiasing.logit`);
:mod:`~propercal.debiasing.stacking` averages them; :mod:`~propercal.debiasing.correction` adds what
a kernel sees in their residuals; :mod:`~propercal.debiasing.variance` estimates what is left of the
bias; :mod:`~propercal.debiasing.one_step` puts the parts together.
"""
