"""A fit from rows to a result, without scikit-learn.

constraints     sets of valid values of parameters, and their errors
request         the parameters of a PCA, and the validated ones of a fit
problem         what is known about the rows before a fit
plan            the choice of a route, and its description, also before a fit
routes          the ways from rows to a spectrum, one per file
fit             the fit: of a table, of rows or of a summary; plan, run a route, hand over
context         a fit in progress: passes over the rows, and how many components to keep
applied_rule    a rule for the number of components, applied to a fit in progress
schema          tables as users pass them: rows, and columns compared with those of a fit
weights         weights of rows: matched with the rows, and checked
fitted          the immutable result and everything derived from it
likelihood      the probabilistic model of a fit
mergeable_summary  the kind of summary that rows are added to, and one for all rows of a fit
fitted_model    a result with its schema: scores of rows of any origin
certificate     error bounds of a result, also measured with the rows
axis_angles     how far axes turn from sample to sample
axis_verdicts   whether the axis of a component can be interpreted
missing         filling missing cells
stream          rows added and removed over time
row_buffer      rows of a stream that do not fill a block yet
lazy_fit        a fit that is solved when its result is first read
runs            the identity of a run, for checkpoints
decorators      old names of arguments, and docstrings with shared entries
model_contents  a result as arrays and plain values, for model files
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
