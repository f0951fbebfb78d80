"""Files: readers of rows, writers of tables, model files and checkpoints.

readers       rows from arrays, sparse matrices, frames, files and pipes
writers       tables to files and streams, whole or block by block
model_file    a fitted model in a file, with a checksum for every array
model_schema  schemas: the fields and arrays of each model file
values        what a field may hold
model_arrays  arrays with their precision and order, sparse rows in parts
checked_file  arrays and a JSON document in one file with checksums
checkpoint    the state of an interrupted fit
lock          locks of checkpoints
atomic        files that are replaced only when complete
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
