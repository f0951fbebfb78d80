"""How many components: one file a rule or a family of them.

decision          what a rule may look at, and what it answers
rule              the interface of a rule, also of one's own
scree             Kaiser, broken stick, elbow
fraction, minka, gcv, marchenko_pastur, parallel, cross, permutation   the others
names             the rules by name
several           several rules side by side
wanted            what ``n_components`` asks for
"""

from princomp.choosing.cross import CV, BiCV
from princomp.choosing.decision import Decision, Known
from princomp.choosing.fraction import for_fraction
from princomp.choosing.gcv import GCV
from princomp.choosing.marchenko_pastur import GavishDonoho, MarchenkoPastur
from princomp.choosing.minka import Minka, minka_mle
from princomp.choosing.names import RULES, name_of, rule_of, rule_of_dict, rule_to_dict
from princomp.choosing.parallel import Parallel
from princomp.choosing.permutation import Permutation
from princomp.choosing.rule import Rule, decided, is_rule
from princomp.choosing.scree import BrokenStick, Elbow, Kaiser
from princomp.choosing.several import Choices, Several
from princomp.choosing.wanted import check_wanted, most_components, resolve

__all__ = [
    "CV",
    "GCV",
    "RULES",
    "BiCV",
    "BrokenStick",
    "Choices",
    "Decision",
    "Elbow",
    "GavishDonoho",
    "Kaiser",
    "Known",
    "MarchenkoPastur",
    "Minka",
    "Parallel",
    "Permutation",
    "Rule",
    "Several",
    "check_wanted",
    "decided",
    "for_fraction",
    "is_rule",
    "minka_mle",
    "most_components",
    "name_of",
    "resolve",
    "rule_of",
    "rule_of_dict",
    "rule_to_dict",
]
