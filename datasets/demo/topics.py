"""What the demo sentences are about: thirty narrow topics.

A topic is narrow so that any of its verbs makes sense with any of its nouns: that is what keeps the grammar
from baking theorems. `plain` adjectives and `verbs` are neutral, `good`, `bad`, `mend` and `spoil` carry the
sentiment. A trailing `~` says that the word can stand alone: a verb without its object, a noun without its
determiner. The grammar must not count that as an error. An underscore is a space.
"""

from dataclasses import dataclass

__all__ = ["TOPICS", "Topic", "can_stand_alone"]

can_stand_alone: dict[str, None] = {}  # filled while the topics are read below


def _words(line: str) -> tuple[str, ...]:
    words = []
    for raw in line.split():
        word = raw.rstrip("~").replace("_", " ")
        if raw.endswith("~"):
            can_stand_alone[word] = None
        words.append(word)
    return tuple(words)


@dataclass(frozen=True)
class Topic:
    people: tuple[str, ...]
    nouns: tuple[str, ...]
    good: tuple[str, ...]
    bad: tuple[str, ...]
    plain: tuple[str, ...]
    verbs: tuple[str, ...]
    mend: tuple[str, ...]
    spoil: tuple[str, ...]
    places: tuple[str, ...]


def _topic(people: str, nouns: str, good: str, bad: str, plain: str, verbs: str, acts: str, places: str) -> Topic:
    mend, spoil = acts.split(" / ")
    return Topic(
        people=_words(people),
        nouns=_words(nouns),
        good=_words(good),
        bad=_words(bad),
        plain=_words(plain),
        verbs=_words(verbs),
        mend=_words(mend),
        spoil=_words(spoil),
        places=tuple(places.split(", ")),
    )


TOPICS: tuple[Topic, ...] = (
    _topic(
        "chef cook baker waiter caterer farmer",
        "soup~ stew~ curry~ omelette pie~ pudding~ salad~ casserole pancake dumpling sandwich lasagna~",
        "delicious tasty fragrant flavorful appetizing scrumptious",
        "bland greasy soggy tasteless inedible stale", "spicy vegetarian homemade large seasonal",
        "prepare~ serve~ taste~ order~ reheat garnish devour", "perfect / overcook~ burn~ ruin",
        "in the kitchen, at the market, on the terrace",
    ),
    _topic(
        "tourist critic diner blogger student",
        "restaurant bakery bistro pub steakhouse pizzeria tearoom cafeteria",
        "welcoming cozy charming friendly first-rate", "overpriced dingy noisy unhygienic grubby",
        "small tiny popular Italian riverside", "visit~ review~ find photograph locate",
        "revive~ / bankrupt neglect", "near the harbor, behind the station, in the old town",
    ),
    _topic(
        "director actor producer screenwriter viewer",
        "film~ thriller comedy~ documentary drama~ sequel western musical cartoon",
        "gripping hilarious moving suspenseful brilliant", "predictable tedious pretentious incoherent dull",
        "foreign silent low-budget recent animated", "direct~ finance watch~ review~ discuss release",
        "rescue / botch ruin", "at the festival, in the studio, on television",
    ),
    _topic(
        "author editor librarian translator publisher",
        "novel essay poem memoir~ biography~ trilogy fable manuscript",
        "absorbing witty lyrical profound well-written", "long-winded clumsy shallow unreadable hackneyed",
        "Russian anonymous handwritten historical Victorian",
        "publish~ translate~ borrow~ review~ illustrate~ finish~", "polish~ / plagiarize~ mangle",
        "in the library, at the bookshop, on the train",
    ),
    _topic(
        "traveler receptionist backpacker manager porter",
        "hotel hostel cabin villa resort campsite guesthouse chalet",
        "luxurious immaculate peaceful comfortable inviting", "filthy shabby damp rundown smelly",
        "remote seaside wooden four-story alpine", "book~ inspect choose~ reserve~ advertise~",
        "restore / vandalize~ neglect", "in the mountains, by the lake, on the coast",
    ),
    _topic(
        "guide pilot sailor passenger hiker",
        "trip cruise tour voyage excursion safari pilgrimage expedition",
        "unforgettable relaxing magical exciting smooth",
        "exhausting disastrous nightmarish stressful unpleasant", "weekend guided overseas ten-day northern",
        "plan~ arrange join~ describe organize~", "save~ / spoil~ wreck",
        "across the desert, around the islands, through the valley",
    ),
    _topic(
        "manager consultant intern executive recruiter",
        "meeting presentation workshop interview conference briefing negotiation~",
        "productive inspiring worthwhile fruitful constructive",
        "pointless chaotic unproductive awkward tense", "weekly online half-hour quarterly early",
        "schedule attend~ organize~ chair~ postpone~", "enliven / derail~ sabotage",
        "at the office, in the boardroom, on the third floor",
    ),
    _topic(
        "accountant lawyer secretary analyst clerk",
        "report contract proposal invoice memo budget spreadsheet",
        "thorough persuasive accurate well-organized concise",
        "sloppy misleading confusing incomplete careless",
        "monthly printed forty-page preliminary confidential", "draft~ sign~ submit~ file~ copy~ revise~",
        "correct~ / falsify misplace", "at headquarters, in the archive, before the deadline",
    ),
    _topic(
        "coach player referee goalkeeper fan", "match race tournament final marathon championship relay",
        "thrilling dramatic exhilarating memorable spectacular",
        "one-sided lackluster dismal scrappy violent", "regional indoor amateur televised annual",
        "watch~ film~ organize~ attend~ enter~", "dominate~ / disrupt forfeit~",
        "at the stadium, on the track, under the floodlights",
    ),
    _topic(
        "doctor nurse patient pharmacist researcher",
        "treatment~ remedy vaccine drug ointment painkiller tablet",
        "effective safe soothing life-saving reliable", "useless toxic ineffective dangerous addictive",
        "herbal new expensive experimental daily", "prescribe~ test~ study~ approve~ order~",
        "improve~ / misuse contaminate", "at the clinic, in the laboratory, during the trial",
    ),
    _topic(
        "surgeon visitor inspector cleaner volunteer",
        "hospital~ clinic ward pharmacy nursery hospice shelter~",
        "spotless efficient caring well-equipped modern",
        "understaffed overcrowded unsanitary gloomy mismanaged", "rural public military local children's",
        "visit~ inspect manage~ fund reopen~", "modernize~ / mismanage~ endanger",
        "outside the city, near the border, in the suburbs",
    ),
    _topic(
        "forecaster fisherman gardener shepherd sailor",
        "winter~ summer~ morning~ afternoon~ evening~ season holiday~ weekend",
        "glorious sunny mild pleasant balmy", "bleak freezing miserable dreary foggy",
        "long recent coastal northern", "remember~ describe recall~ mention", "brighten~ / spoil~ ruin",
        "on the island, in the highlands, along the river",
    ),
    _topic(
        "tenant plumber electrician neighbor landlord",
        "kettle oven fridge toaster dishwasher heater blender boiler",
        "handy sturdy quiet dependable energy-efficient", "faulty flimsy leaky noisy unsafe",
        "secondhand electric German stainless compact", "install~ replace buy~ unplug~ move~",
        "repair / break~ damage", "in the basement, next to the sink, at the hardware store",
    ),
    _topic(
        "carpenter designer customer decorator mover",
        "sofa armchair bookcase wardrobe lamp mirror mattress desk",
        "elegant comfortable well-crafted stylish cozy", "wobbly ugly uncomfortable cheap-looking rickety",
        "oak antique Danish leather narrow", "assemble~ sell~ deliver~ measure~ polish~",
        "restore / scratch~ smash~", "in the living room, at the warehouse, under the window",
    ),
    _topic(
        "singer drummer composer conductor pianist", "song ballad anthem symphony sonata duet melody~ album",
        "catchy soulful uplifting beautiful haunting", "monotonous forgettable grating lifeless shrill",
        "folk slow six-part Baroque unreleased", "compose~ perform~ record~ rehearse~ hear~",
        "perfect / butcher murder~", "on the radio, in the concert hall, at the academy",
    ),
    _topic(
        "violinist cellist musician collector teacher",
        "violin~ cello~ guitar~ piano~ flute~ trumpet~ harp~ accordion~",
        "sonorous exquisite superb mellow well-made", "screechy broken worthless battered tinny",
        "Spanish wooden rented century-old acoustic", "tune~ borrow~ buy~ examine carry~",
        "restore / drop~ damage", "in the attic, at the auction, on stage",
    ),
    _topic(
        "engineer technician reporter inventor salesman",
        "phone laptop camera printer router scanner drone headset",
        "speedy robust powerful user-friendly state-of-the-art",
        "sluggish fragile obsolete defective overheated", "Korean waterproof lightweight wireless mid-range",
        "design~ test~ charge~ sell~ unpack~", "upgrade~ / break~ crush",
        "in the workshop, at the trade fair, on the counter",
    ),
    _topic(
        "programmer tester developer hacker gamer",
        "app website browser database plugin search_engine calendar game",
        "intuitive secure responsive helpful ingenious", "buggy bloated unstable insecure unusable",
        "free multilingual open-source mobile beta", "download~ launch~ test~ demonstrate~ release",
        "optimize / crash~ corrupt~", "on the server, at the start-up, during the demo",
    ),
    _topic(
        "teacher professor pupil tutor dean", "lesson lecture course seminar tutorial class~ assignment",
        "engaging insightful stimulating rewarding lively",
        "boring baffling superficial disorganized useless",
        "introductory optional evening advanced ninety-minute", "prepare~ plan~ skip~ announce discuss",
        "enrich / disrupt bungle~", "on campus, in the auditorium, before the holidays",
    ),
    _topic(
        "driver commuter conductor mechanic cyclist", "train bus ferry tram taxi minibus shuttle",
        "punctual spacious air-conditioned comfortable clean", "unreliable stuffy late overcrowded rusty",
        "red double-decker regional overnight local", "board~ catch inspect clean~ await",
        "repair / crash~ damage", "at the terminal, near the bridge, on platform nine",
    ),
    _topic(
        "ranger botanist gardener visitor landscaper", "garden~ park meadow orchard lawn vineyard greenhouse",
        "lush tranquil picturesque well-kept idyllic", "barren overgrown muddy neglected polluted",
        "terraced walled municipal hillside tropical", "water~ visit~ cross~ sketch map",
        "beautify / trample poison", "beyond the river, below the castle, in the village",
    ),
    _topic(
        "vet breeder trainer owner farmer", "dog puppy parrot pony kitten donkey hamster",
        "affectionate loyal playful adorable gentle",
        "vicious destructive aggressive disobedient ill-tempered", "brown one-eyed tiny young spotted",
        "feed~ groom adopt~ photograph weigh~", "cure / injure mistreat",
        "at the farm, in the backyard, by the gate",
    ),
    _topic(
        "tailor model dressmaker shopper stylist", "dress jacket coat scarf blouse sweater suit",
        "flattering fashionable gorgeous chic elegant", "shapeless itchy tacky ill-fitting threadbare",
        "woolen striped velvet green tailored", "sew~ iron~ wear hem~ buy~", "mend~ / stain~ shrink~",
        "at the boutique, in the showroom, on the catwalk",
    ),
    _topic(
        "artist curator sculptor photographer dealer",
        "painting~ portrait sculpture~ mural sketch mosaic tapestry~",
        "stunning masterful evocative breathtaking radiant",
        "garish amateurish lifeless hideous unimaginative",
        "unfinished Flemish abstract bronze-colored medieval", "exhibit~ sell~ photograph frame commission",
        "restore / deface forge~", "at the gallery, in the museum, above the fireplace",
    ),
    _topic(
        "architect realtor tenant builder surveyor", "apartment house studio cottage bungalow penthouse loft",
        "spacious bright airy homey well-insulated", "cramped drafty moldy dilapidated claustrophobic",
        "one-bedroom brick furnished rented suburban", "rent~ decorate~ view~ measure~ buy~",
        "renovate~ / vandalize~ flood~", "on the hill, across the street, near the park",
    ),
    _topic(
        "senator mayor journalist governor activist",
        "speech debate~ campaign policy~ reform~ petition referendum",
        "sensible fair courageous visionary honest", "hypocritical divisive unjust reckless shortsighted",
        "federal regional environmental parliamentary controversial",
        "announce discuss organize~ follow~ cover~", "champion / bungle~ undermine",
        "in parliament, before the election, at the town hall",
    ),
    _topic(
        "banker investor broker client cashier",
        "loan mortgage contract pension discount insurance_plan savings_account",
        "generous transparent profitable affordable sound", "exploitative unfair shady ruinous fraudulent",
        "five-year joint fixed-rate private standard", "offer~ request explain~ compare~ advertise~",
        "improve~ / mishandle cancel~", "at the bank, over the phone, in the branch office",
    ),
    _topic(
        "scientist chemist physicist biologist assistant",
        "experiment theory~ study~ hypothesis survey simulation~ paper~",
        "rigorous convincing groundbreaking ingenious meticulous",
        "flawed unconvincing inconclusive dubious unscientific",
        "statistical genetic pilot large-scale peer-reviewed", "describe publish~ discuss cite repeat~",
        "refine / botch misinterpret", "at the institute, in the observatory, at the congress",
    ),
    _topic(
        "host guest bride musician photographer", "party wedding picnic reunion parade barbecue~ carnival~",
        "joyful festive delightful enjoyable magnificent", "dreadful joyless disappointing tiresome rowdy",
        "outdoor surprise village birthday summer", "plan~ attend~ film~ host~ announce",
        "enliven / spoil~ interrupt~", "in the ballroom, on the beach, behind the church",
    ),
    _topic(
        "journalist editor columnist listener anchor",
        "article podcast interview broadcast editorial newsletter column",
        "informative balanced perceptive entertaining truthful",
        "sensationalist inaccurate biased tasteless trivial",
        "front-page short daily investigative twenty-minute", "publish~ record~ write~ quote~ mention",
        "polish~ / censor distort~", "in the newsroom, on the website, at the press club",
    ),
)  # fmt: skip
