"""Words that every topic of the demo shares, and the inflection of English nouns, verbs and adjectives."""

from functools import cache
from typing import NamedTuple

__all__ = [
    "CASES", "CHEERS", "CITIES", "COUNTS", "DEGREES", "EXPERIENCES", "FEELINGS", "FORTUNES", "GERUND_VERBS",
    "INTRANSITIVE", "JUDGEMENTS", "KIN", "LINKS", "MANNERS", "MEN", "MOODS", "NO_OBJECT_NEEDED", "REPORTS",
    "SELF_TALK", "SINGULARS", "TIMES", "WOMEN", "Forms", "an", "comparative", "forms", "plural",
]  # fmt: skip


def _words(line: str) -> tuple[str, ...]:
    return tuple(line.split())


Pair = tuple[tuple[str, ...], tuple[str, ...]]


def _pair(bad: str, good: str) -> Pair:
    """Indexed by sentiment: 0 negative, 1 positive."""
    return _words(bad), _words(good)


WOMEN = _words(
    "Maria Alice Fatima Ingrid Yuki Priya Chloe Hannah Leila Sofia Nadia Grace Olga Elena Zoe Carmen Amara "
    "Ruth Helen Wendy Beatrice Mei Paula Irene Naomi"
)
MEN = _words(
    "Ben Omar Lars Kenji Raj Victor Samuel Diego Ivan Oscar Hugo Felix Malik Peter Andrew Tom Jamal Stefan "
    "Walter George Arjun Mateo Simon Kofi Edward"
)
CITIES = _words("Chicago Lisbon Nairobi Osaka Oslo Lima Vienna Dublin Cairo Boston Montreal Delhi Seville Athens")
KIN = {
    "sister": "she", "mother": "she", "aunt": "she", "niece": "she", "grandmother": "she", "daughter": "she",
    "brother": "he", "father": "he", "uncle": "he", "nephew": "he", "grandfather": "he", "son": "he",
    "cousin": "", "roommate": "", "friend": "", "colleague": "", "boss": "",
}  # fmt: skip

# Subject form: object form, possessive determiner, possessive pronoun, reflexive.
CASES = {
    "I": ("me", "my", "mine", "myself"),
    "you": ("you", "your", "yours", "yourself"),
    "she": ("her", "her", "hers", "herself"),
    "he": ("him", "his", "his", "himself"),
    "it": ("it", "its", "its", "itself"),
    "we": ("us", "our", "ours", "ourselves"),
    "they": ("them", "their", "theirs", "themselves"),
}

SINGULARS = ("this", "that", "every", "each")
COUNTS = ("two", "three", "several", "most", "many", "these", "those", "all")

# The verb's subject feels.
FEELINGS = _pair(
    "hate despise dislike loathe detest resent criticize condemn mock denounce deplore",
    "love adore enjoy admire appreciate treasure praise recommend applaud cherish like",
)
# The verb's object feels, and may be left out: the film failed to impress.
EXPERIENCES = _pair(
    "annoy disappoint bore distress irritate disgust frustrate infuriate horrify offend sadden anger dismay",
    "delight impress thrill charm please amaze amuse captivate fascinate inspire cheer enchant satisfy",
)
MOODS = _pair(  # take both `that` and `to`
    "sad ashamed embarrassed disappointed upset horrified sorry",
    "happy glad proud thrilled relieved delighted pleased",
)
FORTUNES = _pair(
    "unfortunately sadly regrettably tragically disappointingly",
    "fortunately happily luckily thankfully mercifully",
)
JUDGEMENTS = _pair(
    "terrible shameful tragic outrageous deplorable awful",
    "wonderful marvelous fantastic encouraging splendid great",
)
GERUND_VERBS = _pair("regret hate resent dislike detest", "enjoy love like appreciate adore")
SELF_TALK = _pair("blame reproach criticize hate curse", "congratulate praise applaud")
CHEERS = _pair("groan sob wince despair complain", "rejoice smile beam grin cheer")

REPORTS = _words("say think insist report explain notice argue know announce remember believe")
INTRANSITIVE = _words("wait arrive sleep yawn sneeze kneel shiver doze linger hesitate")
MANNERS = _words("quickly quietly carefully calmly briefly eventually secretly suddenly promptly")
DEGREES = _words(
    "very really extremely remarkably surprisingly incredibly truly undeniably utterly unusually particularly"
)
LINKS = ("be", "be", "be", "be", "seem", "look", "remain", "appear")
TIMES = {
    "past": ("yesterday", "last week", "two days ago", "last summer", "on Friday", "in 1998", "last night"),
    "present": ("these days", "every weekend", "nowadays", "on Sundays", "as a rule"),
    "future": ("tomorrow", "next week", "next month", "next spring"),
    "perfect": ("so far", "lately", "since January", "recently"),
}


NO_OBJECT_NEEDED = frozenset((*EXPERIENCES[0], *EXPERIENCES[1], *_words("applaud criticize mock love hate")))


class Forms(NamedTuple):
    base: str
    third: str
    past: str
    participle: str
    ing: str


_PLURALS = {"scarf": "scarves", "hypothesis": "hypotheses", "salesman": "salesmen", "fisherman": "fishermen"}
_IRREGULAR = {  # past and participle
    "break": "broke broken", "burn": "burned burned", "buy": "bought bought", "catch": "caught caught",
    "feed": "fed fed", "find": "found found", "forget": "forgot forgotten", "hear": "heard heard",
    "know": "knew known", "sell": "sold sold", "shrink": "shrank shrunk",
    "sleep": "slept slept", "say": "said said", "tell": "told told", "understand": "understood understood",
    "think": "thought thought",
    "wear": "wore worn", "write": "wrote written", "choose": "chose chosen",
    "kneel": "knelt knelt", "be": "was been",
}  # fmt: skip
# The last consonant is doubled after a short stressed vowel, and stress cannot be seen in the spelling.
_DOUBLED = frozenset(_words("plan drop hem map regret skip grin sob unplug submit"))
_VOWELS = "aeiou"


@cache
def plural(noun: str) -> str:
    if noun in _PLURALS:
        return _PLURALS[noun]
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in _VOWELS:
        return noun[:-1] + "ies"
    return noun + "s"


@cache
def forms(verb: str) -> Forms:
    if verb.endswith(("s", "x", "ch", "sh", "z", "o")):
        third = verb + "es"
    elif verb.endswith("y") and verb[-2] not in _VOWELS:
        third = verb[:-1] + "ies"
    else:
        third = verb + "s"
    stem = verb + verb[-1] if verb in _DOUBLED else verb
    ing = (stem[:-1] if stem.endswith("e") and not stem.endswith(("ee", "be")) else stem) + "ing"
    if verb in _IRREGULAR:
        past, participle = _IRREGULAR[verb].split()
    elif third.endswith("ies"):
        past = participle = verb[:-1] + "ied"
    else:
        past = participle = stem + ("d" if stem.endswith("e") else "ed")
    return Forms(verb, third, past, participle, ing)


def comparative(adjective: str) -> str:
    """`more` only where no careful writer would prefer -er; "" for the rest, which use better or worse."""
    endings = ("ing", "ful", "ive", "ous", "able", "ible", "ent", "ant", "ic", "al", "less", "ial")
    return f"more {adjective}" if adjective.endswith(endings) else ""


def an(word: str) -> str:
    """The indefinite article before a word; the exceptions are those of this lexicon."""
    if word.startswith(("use", "one-")):
        return "a"
    return "an" if word[0].lower() in _VOWELS or word.startswith("honest") else "a"
