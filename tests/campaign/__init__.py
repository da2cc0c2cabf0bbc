"""The reliability campaign: random damage, kills and hostile input, in as many cases as time allows.

`make campaign HOURS=1 SEED=0` runs it; `test_campaign.py` is its short form. A kind of case is a module with
`LIMIT`, the seconds a case may take, and `case(chance, folder, stock)`, which tries one case in an empty
folder and returns its outcome in a word or two; an exception is a failure. The chance of a case follows from
the seed, the kind and the number of the case alone, so that every case can be tried again.
"""
