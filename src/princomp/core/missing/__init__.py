"""Missing cells: filled by components of the known ones.

filled    fill the cells of a table, and the record of what was filled
left_out  what a plan says of incomplete rows that a fit left out
methods   regularised EM-PCA and NIPALS, and the cells of new rows
"""
