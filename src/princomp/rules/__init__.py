"""Rules for the number of components: one module for each rule or family of rules.

decision          the interface of a rule, including user-defined rules; its input and its result
scree             Kaiser, broken stick, elbow
fraction, minka, gcv, marchenko_pastur, parallel, cross_validation, permutation   the others
registry          the rules by name
choices           several rules applied to one fit
text_tables       tables as text and HTML
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
