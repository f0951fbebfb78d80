"""PCA that is robust to outliers among rows or cells.

mcd         the minimum covariance determinant, of one column and of a few
robpca      ROBPCA: outlyingness over many directions, then components
model       the result of a fit, and distances of rows
parameters  checks of parameters
estimator   RobustPCA, in scikit-learn's conventions
contents    model files
pursuit     a table as the sum of a low-rank table and a few large cells
"""
