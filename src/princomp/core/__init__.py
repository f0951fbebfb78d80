"""A fit from rows to a result, without scikit-learn.

request         validated parameters of a fit
problem         what is known of the rows before a fit
plan            the choice of a route, and its description
routes          one way from rows to a spectrum per file
fit             the fit: read a table, plan, run a route, hand over to another
fit_summary     a fit of a summary
plan_table      the plan of a fit that has not begun
context         a fit in progress: passes over the rows
component_count how many components to keep
ask_rule        what a rule for the number of components is asked
inputs          rows and weights as users pass them
schema          the columns of a fit, and other tables compared with them
fitted          the immutable result and everything derived from it
projection, likelihood, kept_rows   scores, log-likelihood, and rows restored from all components
fitted_model    a result with its schema: scores of rows of any origin
certificate     error bounds of a result
axis_verdicts   whether the axis of a component can be interpreted
verify          residuals measured with the rows
missing         filling missing cells
stream          rows added and removed over time
stream_blocks, stream_kind, row_buffer   its blocks, its kind of summary, buffered rows
lazy_fit        a fit that is solved when it is first read
runs            what identifies a run, for checkpoints
constraints     valid values of parameters, and their old names
model_contents  a result as arrays and plain values, for model files
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
