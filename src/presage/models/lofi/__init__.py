"""Features selected layer by layer by second moments of the labels: neural low-degree filtering."""
