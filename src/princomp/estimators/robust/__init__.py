"""PCA that outliers among rows or cells do not change.

mcd         the minimum covariance determinant, of one column and of a few
robpca      ROBPCA: outlyingness over many directions, then components
model       the result of a fit, and where rows lie under it
parameters  parameters, checked
estimator   RobustPCA, in scikit-learn's conventions
contents    model files
pursuit     a table as a sum of a low rank and few large cells
"""
