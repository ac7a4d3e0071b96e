"""What to expect of decoys, and which gamma to choose."""
