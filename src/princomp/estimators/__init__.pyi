from .base import (
    ResultAttribute as ResultAttribute,
    TableEstimator as TableEstimator,
    check_other_model as check_other_model,
    estimator_from_document as estimator_from_document,
    refuse_reading_twice as refuse_reading_twice,
    transform_output as transform_output,
)
from .choosing import choices_and_model as choices_and_model, choose as choose
from .derived import with_names as with_names, with_signs as with_signs
from .estimator import PCA as PCA
from .functions import pca as pca, svd as svd
from .incremental import IncrementalPCA as IncrementalPCA
from .loading import load as load, load_model as load_model, plan as plan
from .ranks import fit_on_ranks as fit_on_ranks
from .robust.estimator import RobustPCA as RobustPCA, robust_deviations as robust_deviations
from .robust.pursuit import (
    Pursuit as Pursuit,
    principal_component_pursuit as principal_component_pursuit,
)
