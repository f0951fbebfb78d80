"""PCA that is robust to outliers among rows or cells.

estimator  RobustPCA, in scikit-learn's conventions
robpca     ROBPCA: outlyingness over many directions, then components by the MCD
mcd        the minimum covariance determinant
model      the result of a fit, distances of rows, model files
pursuit    a table as the sum of a low-rank table and a few large cells
"""
