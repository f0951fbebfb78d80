"""Reports of a fitted PCA: a self-contained HTML page (needs ``princomp[report]``), and documents.

api         ``report``: checks its arguments, reads the rows, writes the page
request     what a report is about: the model, the rows, the options
page        the page, with the data of the interactive plot and how the model was computed
narrative   sentences about the analysis, its results and their reliability
tables      the tables of the page
figures     the figures of the page
svg         figures as SVG elements, for light and dark pages
text        texts of a language, from ``texts/``
documents   contents of the JSON documents and tables of the command line
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
