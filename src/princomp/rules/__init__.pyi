from .choices import Choices as Choices, Several as Several
from .cross_validation import CV as CV, BiCV as BiCV
from .decision import (
    Decision as Decision,
    Known as Known,
    Rule as Rule,
    apply_rule as apply_rule,
    is_rule as is_rule,
)
from .fraction import for_fraction as for_fraction
from .gcv import GCV as GCV
from .marchenko_pastur import GavishDonoho as GavishDonoho, MarchenkoPastur as MarchenkoPastur
from .minka import Minka as Minka
from .parallel import Parallel as Parallel
from .permutation import Permutation as Permutation
from .registry import (
    RULES as RULES,
    name_of as name_of,
    rule_of as rule_of,
    rule_of_dict as rule_of_dict,
    rule_to_dict as rule_to_dict,
)
from .scree import BrokenStick as BrokenStick, Elbow as Elbow, Kaiser as Kaiser
from .text_tables import html_table as html_table, text_table as text_table
