"""Studies with people: forward simulation and rating of rationales, as in the paper, and their analysis.

Nothing here needs a web server; a page calls `UserStudy` for each question. (Studies of methods and settings,
without people, are `unirex.experiments`.)
"""

from unirex.user_study.create import create_study
from unirex.user_study.definition import Arm, Definition, Item, Showing
from unirex.user_study.study import Annotator, Question, Reply, UserStudy

__all__ = [
    "Annotator",
    "Arm",
    "Definition",
    "Item",
    "Question",
    "Reply",
    "Showing",
    "UserStudy",
    "create_study",
]
