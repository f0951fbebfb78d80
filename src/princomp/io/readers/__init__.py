"""Readers: a Table in memory, or a Source that gives rows chunk by chunk.

source, table                  the two results of a reader
coerce                         rows from any object a user passes
memory, frames, covariance     arrays, sparse matrices, lists; data frames; a matrix C
batches, stdin, several        iterators; a pipe; several files as one table
files, file_names              formats by the ending of a file name; patterns and parts
isolated                       files that a process of its own reads
table_input, read_options      how a table is to be read: separators, header, columns
row_names, named_column        columns that name or group the rows
row_numbers, left_out          a first column of row numbers in a frame; notes on columns left out
delimited*                     CSV and TSV: whole, in chunks, and the text they are made of
number_text, workbook          numbers as people write them; sheets of .xlsx files as such text
columnar*                      Parquet and Arrow: files, record batches, chunks, columns
numpy_file                     npy
hdf5, h5ad*, zarr_store        HDF5, AnnData and Zarr
array_lookup, stored_array, chunk_plan   what these share
sparse_files, market_text      npz and MatrixMarket; csr: sparse parts from any file
cells, columns, reader_errors   what a cell, a choice of columns and a library's error mean
mapped                         rows through a feature map
materialize                    rows of a source read into memory
"""
