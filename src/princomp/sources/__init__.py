"""Where rows come from: a Table in memory, or a Source that gives them chunk by chunk.

source, table                  what readers give
any                            whatever a person hands over
memory, frames, covariance     arrays, sparse matrices, lists; data frames; a matrix C
batches, stdin, several        iterators; a pipe; several files as one table
files                          files by the ending of their name
delimited*                     CSV and TSV: whole, in chunks, and the text they are made of
columnar, columnar_stream      Parquet and Arrow: whole, and in chunks
numpy_file                     npy
hdf5, h5ad*, zarr_store        HDF5, AnnData and Zarr; members, stored_array, pace: what they share
sparse_files, market_text      npz and MatrixMarket; csr: sparse parts from any file
cells, columns, faults         what a cell, a choice of columns and a library's error mean
mapped                         rows through a feature map
holding                        rows of a source taken into memory
"""
