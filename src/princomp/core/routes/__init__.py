"""Routes: each one way from rows to a spectrum, one a file.

base        what they share: the protocol, the fit in progress, and how a route ends
small       the shortest one, for a table of one block
moments     a scatter: its decomposition, or a search in it
triangle    a QR factorisation
centred     what the next three share: rows in memory, multiplied without a scatter
row_gram    n × n products of the rows
lanczos     a search
randomized  random directions
krylov      a search by passes over blocks of rows
sketch      one pass over wide rows
given       components of another library
tiles       a scatter in tiles that an engine holds
"""
