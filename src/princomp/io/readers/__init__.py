"""Readers: each gives a Source that yields rows chunk by chunk, or a TableSource in memory.

source                         the result of a reader: rows in chunks, or a table in memory
memory, frames, covariance     arrays, sparse matrices, lists; data frames; a covariance matrix C
not_tables, not_finite         errors for objects that are not tables, and for NaN and infinity
batches, stdin, source_chain   iterators; standard input; several files as one table
files                          one or more files as a table
formats, wildcards             formats by the ending of the name, parts of files; names with *
isolated                       untrusted files, read in a separate process
table_input, read_options      rows, or one column, of any object a user passes; options for reading
left_out, row_names            columns without numbers; columns that name or number the rows
misread                        tables that seem to be covariances, or text that was not split
date_numbers, missing_codes    first columns of dates or times; numbers such as 99 for missing cells
rows_at_end                    empty rows and totals at the end of a text
delimited                      CSV and TSV files read whole; which columns hold numbers
delimited_stream               CSV and TSV in chunks
delimited_detect               how their text is written: separator, quotes, encoding
delimited_marks                the marks in its numbers
unclear_points                 its numbers such as 1.234, which may be 1234
delimited_header, header_lines its column names; which lines hold them
delimited_text, delimited_pieces   their text, and its pieces of whole records
delimited_parse                columns of such text in chunks
delimited_numbers              its columns as numbers; errors where they may be something else
number_text, workbook          number formats in text; sheets of .xlsx files as such text
columnar*                      Parquet and Arrow: files and streams, chunks, columns
numpy_file                     npy
hdf5, h5ad, zarr_store         HDF5, AnnData and Zarr
array_lookup, stored_array, chunk_plan, packing   shared code of HDF5, AnnData, Zarr, npy, npz
npz_file, matrix_market        npz and MatrixMarket
cells, columns, reader_errors   cells as numbers, choice of columns, errors of libraries
mapped                         rows after a feature map
materialize                    load the rows of a source into memory
"""
