"""Where rows come from: arrays, sparse matrices, frames and files, each made one Table."""
