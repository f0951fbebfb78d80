"""Routes: the ways from rows to a spectrum, one per file.

base        what routes share: their protocol, how they end, and centred rows in memory
small       the shortest route, for a table of one block
moments     a scatter: its decomposition, or a search in it
triangle    a QR factorisation
row_gram    n × n products of the rows
lanczos     a search by products with the rows
randomized  random directions
krylov      a search by passes over blocks of rows
sketch      one pass over wide rows
tiles       a scatter in tiles that an engine holds
"""
