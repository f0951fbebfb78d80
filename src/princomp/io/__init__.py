"""Input and output: data readers, table writers, model files and checkpoints.

readers         read rows from arrays, sparse matrices, data frames, files and pipes
table_writer    write tables to files and streams, whole or block by block
table_encoders  the encoders of CSV, Parquet and Arrow
model_file      fitted models, and their layout: arrays and a JSON document with a checksum
model_schema    schemas: the fields and arrays of each model file
values          which values a field may hold
model_arrays    keep the dtype and memory order of arrays, split sparse rows into parts
checkpoint      the state of an interrupted fit, in a locked file
atomic          files that are replaced only when complete
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
