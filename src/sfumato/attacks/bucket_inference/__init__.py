"""Who holds which value of a bucket: inference from rows and values that were published apart.

Arrays in, arrays out. A bucket of g people and g values is a g x g matrix of likelihoods; the people's
values are one of the permutations of the bucket's values, each weighted by its product of likelihoods.
"""
