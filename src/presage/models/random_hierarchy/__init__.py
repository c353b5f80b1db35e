"""Random hierarchies: classes that are written out by synonyms, level by level, and learned layer by layer."""
