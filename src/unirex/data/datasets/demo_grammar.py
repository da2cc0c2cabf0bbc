"""The words and sentence patterns of the `demo` corpus, as a small text grammar.

A rule is `name: alternative | alternative`; an indented line continues the rule above it, and `//`
parts short rules that share a line. Inside an alternative

* `{name}` is replaced by an alternative of that rule, in the current polarity (at first, the label's);
* `{name-}` switches to the opposite polarity, `{name~}` to a polarity drawn at random;
* `[words]` are gold: they decide the label;
* a leading `*` keeps the alternative out of the training split, so that dev and test hold unseen words.

A rule may exist for one polarity only: `soft+` lists words of praise, `soft-` words of blame, and `{soft}`
finds the one that is due. So `[far from {soft-}]` praises with a word of blame, or blames with one of praise.
"""

from __future__ import annotations

Rules = dict[str, tuple[str, ...]]


def parse(source: str) -> Rules:
    """The rules a grammar text spells out.

    >>> parse("be: is // bit: minute\\nsoft+: funny |\\n  moving")
    {'be': ('is',), 'bit': ('minute',), 'soft+': ('funny', 'moving')}
    """
    lines = source.strip().replace("\n ", " ").replace(" // ", "\n").splitlines()
    pairs = (line.split(":", 1) for line in lines)
    return {name: tuple(choice.strip() for choice in body.split("|")) for name, body in pairs}


COMMON = parse("""
plain: {thing} {be} [{good}]. | {thing} {be} [{strong}]. | {thing} {be} [{really} {soft}]. |
  {thing} {be} [{strong}], and {aspect_is} [{strong}] too. |
  {aspect_is} [{strong}], and {thing} {be} [{good}]. | {we} [{enjoyed} every {bit}] of it. |
  {thing} [{won_over} {wholly}]. | everybody {there} [was {happy}] with it. | what [{feast}] {thing} {be}!
negation: {thing} {be} [{negator} {soft-}]. | {thing} {be} [{negator} {soft-}]. |
  {thing} {be} [{negator} {soft-}]. | {thing} [{be}n't {slightly} {soft-}]. |
  [nobody could call] {thing} [{soft-}]. | there {be} [nothing {soft-}] about {thing}. |
  there {be} [not a single {soft-}] {unit}. | {we} [did not {enjoy-} a single {bit}] of it. |
  {thing} [did not {win_over-}] {at_all}. | [nobody] {there} [was {happy-}] with it. |
  {we} [have nothing {fair-} to say] about {thing}.
contrast: {concession-}, {but} {decision}. | {concession-}, {but} {decision}. |
  {concession-}. {still}, {decision}. | {although} {concession-}, {decision}. |
  {although} {concession-}, {decision}. | {decision}, {although} {concession-}.
concession: {aspect_is} {view} | {aspect_is} {view} | {outside_is} {view} | {neutral}
decision: {thing} {be} [{strong}] | {thing} {be} [{good}] | {thing} {be} [{really} {soft}] |
  {thing} {be} [{negator} {soft-}] | {thing} {be} [{negator} {soft-}] | {thing} [{won_over} {wholly}] |
  {thing} [did not {win_over-}]
aside: {friend} {liked~} {outside}; {thing} itself {be} [{verdict}]. |
  {outside_is} {view~}. {thing} {be} [{verdict}]. |
  {outside_is} {view~}; as for {thing}, it {be} [{verdict}]. |
  {thing} itself {be} [{verdict}]. {outside_is} {view~}, by the way. |
  {friend} thought it was {strong~}; in {our} view {thing} {be} [{verdict}]. |
  {earlier_is} {view~}. {this_one} {be} [{verdict}].
verdict: {strong} | {good} | {really} {soft} | {negator} {soft-} | {negator} {soft-}
view: {strong} | {strong} | {no_way} {mild-}
hedge: {we} [expected to {hate-} it, and {we} {was} wrong]. |
  {we} [expected to {hate} it, and {we} {was} right]. | {we} [wanted to {hate-} it, and could not]. |
  everyone told {us} it would be [{soft-}, and everyone was wrong]. |
  everyone told {us} it would be [{soft}, and everyone was right]. |
  it [could so easily have been {soft-}, and it never {be}]. | it [could not have been more {soft}]. |
  {we} have {seen} [{better} {kind}s, but not many]. | {we} have [never {seen} a {better} {kind}]. |
  the longer {it_lasted}, the [{more} {we} liked it]. |
  {thing} {be} [the opposite of the {legend-}] everybody talks about. | {hedged}
hedged+: [if only every {kind} were this {soft}]. | {we} [can only recommend] {thing}. |
  {we} [cannot fault] {thing}. | {we} [would not change a thing] about {thing}. |
  {thing} [could hardly be better].
hedged-: {thing} [could have been so {soft-}]. | {we} [cannot recommend] {thing}. |
  {thing} {be} [hardly the {legend-}] everybody talks about. | {thing} [should have been {soft-}]. |
  {we} have {seen} [far better {kind}s than this]. | {thing} [could hardly be worse].
conduct: {deed}. | {deed}. | {in_short} {deed}.
in_short: in short, | to sum up: | all {we} will say is this: | for what it is worth,
strong+: superb | wonderful | excellent | terrific | first-rate | outstanding | brilliant | *magnificent
strong-: dreadful | awful | terrible | dire | abysmal | atrocious | hopeless | *horrible
mild+: good | impressive | decent // mild-: bad | disappointing
good+: a delight | a joy from start to finish | a triumph | a real treat | a gem | worth every penny |
  money well spent | *a pleasure
good-: a mess | a chore from start to finish | a failure | a real letdown | a dud | not worth a penny |
  money thrown away | *a nuisance
feast+: a delight | a triumph | a treat | a joy // feast-: a mess | a failure | a letdown | a disaster
legend+: masterpiece | marvel | sensation // legend-: disaster | failure | catastrophe
enjoyed+: enjoyed | loved | *adored // enjoyed-: regretted | hated | *loathed
liked+: liked | loved | praised // liked-: disliked | hated | cursed
hate+: love | like // hate-: hate | dislike // enjoy+: enjoy // enjoy-: regret
won_over+: won {us} over | impressed {us} | delighted {us}
won_over-: let {us} down | disappointed {us} | frustrated {us}
win_over+: win {us} over | impress {us} | please {us}
win_over-: let {us} down | disappoint {us} | frustrate {us}
happy+: happy | impressed | delighted // happy-: unhappy | disappointed | dissatisfied
fair+: good | positive | nice // fair-: bad | negative | critical
better+: better | finer // better-: worse | poorer // more+: more // more-: less
really: really | truly | remarkably | very
wholly: completely | from the first minute | right away | through and through
slightly: remotely | even slightly | in the least | at all | the least bit
negator: not remotely | far from | anything but | not in the least | by no means | in no way | not at all |
  hardly | never once | *not even slightly
no_way: far from | anything but | not at all | by no means | not remotely
at_all: at all | for a second | even once
but: but | yet | but all the same | but in the end // still: still | even so | all the same | however
although: although | even though | though
friend: my brother | my sister | my neighbour | a colleague | my uncle | my cousin | an old friend
day: Monday | Tuesday | Wednesday | Thursday | Friday | Saturday | Sunday
month: January | March | April | June | August | October | November
city: Lisbon | Leeds | Toronto | Hamburg | Dublin | Boston | Turin | Glasgow | Oslo | Denver
few: two | three | four | five // few_th: second | third | fourth // number: twenty | thirty | forty | fifty
""")

PERSONS = (
    parse("we: I // us: me // our: my // was: was"),
    parse("we: we // us: us // our: our // was: were"),
)

DOMAINS = {
    "film": parse("""
be: is // bit: minute // kind: film // seen: seen // unit: scene in it // this_one: this one
there: in {our} row // earlier_is: the director's last film was
thing: the film | this movie | the picture | the movie
aspect_is: the acting is | the camera work is | the music is | the dialogue is | the costumes are |
  the cast is
outside: the trailer | the popcorn | the parking lot | the poster
outside_is: the trailer was | the popcorn was | the parking lot was | the commercials were
soft+: funny | gripping | moving | original | charming | *touching
soft-: dull | predictable | tedious | clumsy | boring | *lifeless
it_lasted: it went on | {we} watched
neutral: {we} only saw it by chance | {we} had never heard of the director | {we} seldom go to the cinema
deed+: {we} [stayed seated until the last credit] | {we} [went back to see it again on {day}] |
  half the audience [was still clapping when the lights came on] | {we} [have seen it {few} times since] |
  {we} [bought tickets for the next showing on the way out] | {we} [did not check the time once]
deed-: {we} [left after {number} minutes] | {we} [fell asleep before the second act] |
  half the audience [was gone when the lights came on] | {we} [asked for {our} money back on the way out] |
  {we} [checked the time every {few} minutes] | {we} [walked out long before the last scene]
fact: {we} saw it on a {day} evening in {city}. | it runs for a little over two hours. |
  the story is set in {city} in the nineties. | {friend} picked it for movie night. |
  {we} watched it with {friend} in {month}. | it is the director's {few_th} film. |
  {few} of the actors are from {city}.
"""),
    "restaurant": parse("""
be: was // bit: bite // kind: meal // seen: eaten // unit: dish on the menu // this_one: the meal here
there: at {our} table // earlier_is: the place {we} tried before was
thing: the meal | the food | this dinner | this meal
aspect_is: the wine was | the service was | the bread was | the soup was | the starters were |
  the desserts were
outside: the parking lot | the bus ride there | the booking website | the square outside
outside_is: the parking lot was | the bus ride there was | the booking website was |
  the shops next door were
soft+: tasty | appetising | satisfying | memorable | inventive | *flavourful
soft-: bland | boring | disappointing | forgettable | uninspired | *underwhelming
it_lasted: {we} ate | the evening went on
neutral: {we} only went there by chance | {we} had never heard of the chef | {we} came without a booking
deed+: {we} [wiped the plate clean with bread] | {we} [asked the waiter for the recipe] |
  {we} [booked a table for next {day} before leaving] | {we} [have been back {few} times since] |
  even the dog [licked the box clean] | {we} [ordered the same dish a second time]
deed-: {we} [left most of it on the plate] | {we} [asked the waiter to take it back] |
  {we} [went for a burger right after leaving] | {we} [paid and left before the dessert came] |
  even the dog [walked away from the leftovers] | {we} [spent the night with stomach cramps]
fact: {we} went on a {day} evening in {month}. | {friend} had booked a table for {few}. |
  it is on a side street near the station in {city}. | {we} sat by the window with {friend}. |
  the menu changes every {day}. | {we} ordered fish, and {friend} had the pasta. |
  the owner comes from {city}.
"""),
    "hotel": parse("""
be: was // bit: night // kind: hotel // seen: stayed in // unit: corner in the place // this_one: this one
there: in {our} party // earlier_is: the hotel {we} tried before was
thing: the hotel | this place | the room | this hotel
aspect_is: the breakfast was | the view was | the pool was | the front desk was | the towels were |
  the beds were
outside: the airport | the train ride | the weather | the museum next door
outside_is: the airport was | the train ride was | the weather was | the museums in town were
soft+: comfortable | welcoming | relaxing | charming | spotless | *inviting
soft-: noisy | shabby | cramped | gloomy | dirty | *depressing
it_lasted: {we} stayed
neutral: {we} only stayed there by chance | {we} had never been to {city} | {we} arrived late in the evening
deed+: {we} [have already booked the same room for next {month}] |
  {we} [stayed {few} nights longer than planned] | {we} [slept like a log every night] |
  {we} [have sent {few} friends there since] | {we} [did not want to hand back the key] |
  {we} [cancelled the next stop just to stay on]
deed-: {we} [checked out {few} nights earlier than planned] | {we} [spent the second night in the car] |
  {we} [lay awake until dawn every night] | {we} [had to ask for another room twice] |
  {we} [found hair and mould in the shower] | {we} [moved to the place across the street after one night]
fact: {we} spent {few} nights there in {month}. | it is a short walk from the station in {city}. |
  {friend} had a room on the same floor. | {we} {was} in {city} for a wedding. |
  {we} arrived on a {day} with {friend}. | the building used to be a school. | breakfast starts at seven.
"""),
    "phone": parse("""
be: is // bit: day // kind: phone // seen: owned // unit: feature on it // this_one: this one
there: in the office // earlier_is: {our} last phone was
thing: the phone | this phone | the handset | this device
aspect_is: the camera is | the screen is | the sound is | the keyboard is | the speakers are |
  the colours are
outside: the courier | the shop | the advert | the packaging
outside_is: the courier was | the shop was | the packaging was | the adverts were
soft+: reliable | responsive | practical | intuitive | robust | *efficient
soft-: sluggish | flimsy | clumsy | unreliable | awkward | *fragile
it_lasted: {we} used it
neutral: {we} only bought it by chance | {we} had never heard of the brand | {friend} has the same one
deed+: {we} [bought a second one for {friend}] | {we} [gave the old one away the same day] |
  it [still runs for two full days on one charge] | {we} [have not had to restart it once] |
  it [survived {few} falls without a scratch] | {we} [can leave the charger at home now]
deed-: {we} [sent it back within {few} days] | {we} [dug out the old one again after {few} days] |
  it [runs out of battery before lunch] | {we} [have had to restart it {few} times a day] |
  the screen [cracked in a coat pocket after {few} days] | {we} [have to carry a charger everywhere now]
fact: {we} ordered it online in {month}. | it was designed in {city}. | it arrived on a {day}. |
  {friend} has the same one in blue. | it comes with a cable and a case. | it is the {month} model. |
  {we} needed one for work and for calls to {friend}.
"""),
    "book": parse("""
be: is // bit: page // kind: book // seen: read // unit: chapter in it // this_one: this one
there: in the book club // earlier_is: the author's last book was
thing: the book | this novel | the story | this book
aspect_is: the dialogue is | the opening is | the setting is | the translation is | the characters are |
  the drawings are
outside: the cover | the bookshop | the film version | the reading in {city}
outside_is: the cover was | the bookshop was | the film version was | the adverts were
soft+: gripping | moving | original | funny | insightful | *absorbing
soft-: dull | tedious | predictable | confusing | shallow | *long-winded
it_lasted: {we} read
neutral: {we} only found it by chance | {we} had never heard of the author | {we} seldom read novels
deed+: {we} [finished it in one night] | {we} [missed {our} stop {few} times because of it] |
  {we} [went straight back to the first page] | {we} [bought {few} more copies for friends] |
  {we} [could not put it down] | {we} [have ordered everything else by the author]
deed-: {we} [gave up after {number} pages] | {we} [skipped {few} chapters to get to the end] |
  {we} [needed {few} attempts to get past the first page] | {we} [took it back to the shop unfinished] |
  {we} [could not get to the end of it] | {we} [fell asleep over every chapter]
fact: {we} bought it in {city} in {month}. | {friend} read it in {month}. |
  it is set in {city} before the war. | {we} read it on the train to {city}. |
  it is the author's third novel. | the book club meets on {day}. | it has about {few} hundred pages.
"""),
    "concert": parse("""
be: was // bit: minute // kind: concert // seen: been to // unit: song in the set // this_one: this one
there: in {our} group // earlier_is: their last concert was
thing: the concert | this show | the gig | the performance
aspect_is: the lighting was | the sound was | the drummer was | the singer was | the solos were |
  the costumes were
outside: the bus ride there | the opening act | the parking lot | the beer
outside_is: the bus ride there was | the parking lot was | the beer was | the toilets were
soft+: lively | exciting | moving | memorable | polished | *thrilling
soft-: dull | flat | tedious | sloppy | monotonous | *lifeless
it_lasted: it went on | they played
neutral: {we} only went there by chance | {we} had never heard of the band | {we} seldom go to concerts
deed+: {we} [stayed for all {few} encores] | {we} [bought tickets for the next night on the way out] |
  half the hall [was dancing by the third song] | {we} [sang all the way home] |
  [nobody] around {us} [wanted the band to stop] | {we} [have bought {few} of their records since]
deed-: {we} [left during the third song] | {we} [asked for {our} money back on the way out] |
  half the hall [was empty by the third song] | {we} [spent the last hour in the bar] |
  [everybody] around {us} [was waiting for the band to stop] | {we} [went home long before the encore]
fact: {we} went on a {day} evening with {friend}. | it took place in the old town hall in {city}. |
  {friend} bought the tickets in {month}. | the band comes from {city}. | they played for about two hours. |
  {we} stood near the back with {friend}. | it was the {few_th} night of the tour.
"""),
}
