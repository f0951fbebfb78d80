"""Input and output: data readers, table writers, model files and checkpoints.

readers       read rows from arrays, sparse matrices, data frames, files and pipes
writers       write tables to files and streams, whole or block by block
model_file    save and load fitted models
model_schema  schemas: the fields and arrays of each model file
values        which values a field may hold
model_arrays  keep the dtype and memory order of arrays, split sparse rows into parts
checked_file  arrays and a JSON document in one file with a checksum
checkpoint    the state of an interrupted fit
checksum      checksums of rows, which recognise the input of a run
lock          locks of checkpoints
atomic        files that are replaced only when complete
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
