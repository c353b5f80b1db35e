"""The first witness: one matrix seen in noise for each, coupled by what a sample shows, as the dimension grows."""
