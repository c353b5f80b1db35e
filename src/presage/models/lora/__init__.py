"""Fine-tuning of a pre-trained attention layer by an adapter of low rank (LoRA)."""
