"""Audits: experiments that bound a defense's ε from below, by telling apart what it promises to keep apart.

Two games, both played with the defense's own code: a pair of neighbouring data sets in many runs (`pair`), and canaries
in a single run (`canaries`). What a distinguisher reaches becomes a bound that holds with 95 % confidence whatever the
defense is (`bounds`): a poor distinguisher gives a low bound, never a wrong one.
"""
