"""Mathematics of single methods and attacks: arrays in, arrays out, noise as an argument."""
